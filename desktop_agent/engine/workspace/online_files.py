"""Files whose bytes are with a service of the cloud, and are fetched by whoever reads them."""

from __future__ import annotations

import os

# winnt.h: FILE_ATTRIBUTE_OFFLINE, _RECALL_ON_OPEN, _RECALL_ON_DATA_ACCESS
_OFFLINE = 0x1000 | 0x40000 | 0x400000
# sys/stat.h of macOS
_DATALESS = 0x40000000


def is_online_only(status: os.stat_result) -> bool:
    """Whether only a name of the file is here, as of OneDrive, iCloud and their like.

    Reading all of those in a folder would fill the disk, and wait for the network.
    """
    attributes = getattr(status, "st_file_attributes", 0)
    return bool(attributes & _OFFLINE or getattr(status, "st_flags", 0) & _DATALESS)
