"""What a measurement prints, and the figures it is held against."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """`goal` is what we want, `gate` what a release needs, `floor` what a bare part costs."""

    unit: str
    goal: float | None = None
    gate: float | None = None
    floor: float | None = None


MARKS: dict[str, Mark] = {
    "start_first_paint": Mark("ms", 200, 350),
    "start_pss_window": Mark("MB", 70, None),
    "start_rss_window": Mark("MB", 75, 90),
    "start_rss_with_host": Mark("MB", 230, 280),
    "start_pss_first_message": Mark("MB", 100, None),
    "streams_gap_p99": Mark("ms", 20, 25, 16.4),
    "streams_gap_max": Mark("ms", 35, 60, 16.8),
    "streams_chunks_per_s": Mark("chunks/s", 2900, 2700),
    "streams_backlog": Mark("s", 0.5, None),
    "streams_rss_window": Mark("MB", None, None),
    "overhead_step_5": Mark("ms", 11, 16, 2.3),
    "overhead_step_50": Mark("ms", 11, 16, 2.6),
    "overhead_step_300": Mark("ms", 16, 25, 3.9),
    "overhead_growth": Mark("ratio", 1.3, 2.0, 1.7),
    "first_request": Mark("ms", 2500, 3000, 160),
    "sandbox_check": Mark("ms", 300, 500),
    "sandbox_check_broken_max": Mark("ms", 300, 500),
    "sandbox_barest_p50": Mark("ms", None, None),
    "sandbox_added_p50": Mark("ms", 12, 15, 9),
    "sandbox_added_p95": Mark("ms", 20, 30, 15),
    "sandbox_ratio_p50": Mark("ratio", None, None),
    "sandbox_start_large": Mark("ratio", 1.5, 3),
    "sandbox_ten_gap_p99": Mark("ms", 20, 25),
    "sandbox_ten_gap_max": Mark("ms", None, None),
    "sandbox_ten_seconds": Mark("s", None, None),
    "session_open": Mark("ms", 50, 100),
    "session_scroll_frame": Mark("ms", 8, None),
    "session_scroll_frame_max": Mark("ms", 16, 50),
    "session_rss_growth": Mark("MB", None, None),
    "quiet_survey": Mark("%", 70, None),
    "quiet_sessions": Mark("%", 70, None),
    "quiet_sessions_least": Mark("%", 70, None),
    "line_gap_max": Mark("ms", 50, 100, 16.8),
    "line_rss_growth": Mark("MB", 16, 32),
    "output_gap_max": Mark("ms", 50, 100, 16.8),
    "output_rss_growth": Mark("MB", 16, 32),
    "output_seconds": Mark("s", None, None),
    "store_append_forced": Mark("ms", 1.0, 5.0),
    "store_append": Mark("ms", 0.1, 0.5, 0.014),
    "store_list_10k": Mark("ms", 30, 80),
    "history_fill_s": Mark("s", None, None),
    "history_file_mb": Mark("MB", None, None),
    "history_index_mb": Mark("MB", None, None),
    "history_open_list": Mark("ms", None, None),
    "history_open_list_empty": Mark("ms", None, None),
    **{
        f"history_search_{name}": Mark("ms", 100, 200)
        for name in (
            "common",
            "rare",
            "once",
            "prefix",
            "phrase",
            "chinese",
            "chinese_two",
            "accent",
            "signs",
            "nothing",
            "nothing_chinese",
        )
    },
    "history_open_long": Mark("ms", 200, 1000),
    **{
        f"history_start_{name}{suffix}": mark
        for name in ("paint", "paint_wall", "opened", "opened_wall")
        for suffix, mark in (("", Mark("ms")), ("_ratio", Mark("ratio", 1.1, 1.1)))
    },
    "history_page": Mark("ms", 50, 100),
    "history_load_agents": Mark("ms", 500, 1000),
    "skills_scan": Mark("ms", 500, 1000),
    "skills_scan_folder": Mark("ms", 700, 1500),
    "skills_rescan": Mark("ms", 100, 200),
    "skills_judge": Mark("ms", 20, 50),
    "skills_heard": Mark("ms", 50, None),
    "skills_open_first": Mark("ms", 200, None),
    "skills_open": Mark("ms", 60, 100),
    "skills_search": Mark("ms", 25, 50),
    "skills_search_p99": Mark("ms", 50, None),
    "skills_switch": Mark("ms", 16, 50),
    "agents_gap_p99": Mark("ms", 20, 25, 16.4),
    "agents_gap_max": Mark("ms", 35, None, 16.8),
    "agents_chunks_per_s": Mark("chunks/s", 760, 700),
    "agents_tree_insert": Mark("ms", 20, 30),
    "agents_tree_expand": Mark("ms", 20, 30),
    "agents_tree_update_core": Mark("%", 5, 10),
    "agents_registry": Mark("MB", 50, 100),
    "agents_ended_app": Mark("MB", 5, 15),
    "agents_ended_host": Mark("MB", 10, 30),
    "agents_change_1k": Mark("ms", 1, None),
    "agents_stop_shown": Mark("ms", 50, 100),
    "agents_stop_told": Mark("ms", 50, 100),
    "agents_stop_gone": Mark("ms", 2200, 2500),
    "agents_stop_left": Mark("processes", 0, 0),
    "tasks_open": Mark("ms", 60, 80),
    "tasks_change_engine": Mark("ms", 2, 8),
    "tasks_change_applied": Mark("ms", 6, 8),
    "tasks_change_painted": Mark("ms", 20, 30),
    "tasks_change_painted_p90": Mark("ms", 30, None),
    "tasks_spinner_frame": Mark("ms", 1, 4),
    "tasks_spinner_rows": Mark("rows", 1, 1.01),
    "tasks_spinner_idle": Mark("paints", 0, 0),
    "tasks_graph_open": Mark("ms", 50, 150),
    "tasks_graph_pan": Mark("ms", 10, 16.7),
    "tasks_graph_pan_p99": Mark("ms", 16.7, None),
    "tasks_rapid_seconds": Mark("s", None, None),
    "tasks_rapid_equal": Mark("is", 1, 1),
    "tasks_rapid_gap_max": Mark("ms", 50, None),
    "undo_first_10k": Mark("s", 5, None),
    "undo_first_10k_cpu": Mark("s", None, None),
    "undo_nothing_10k": Mark("ms", 50, None),
    "undo_10_of_10k": Mark("ms", 100, None),
    "undo_1000_of_10k": Mark("ms", None, None),
    "undo_first_wait_100k": Mark("s", 5, None),
    "undo_first_command_100k": Mark("s", None, None),
    "undo_gap_p99": Mark("ms", 20, 25),
    "undo_gap_max": Mark("ms", 100, None),
    "undo_first_cpu_100k": Mark("s", 5),
    "undo_later_cpu": Mark("ms", 200),
    "undo_later_cpu_max": Mark("ms", 200),
    "undo_later_more": Mark("ms", 200, None),
    "undo_later_more_max": Mark("ms", 200, None),
    "proxy_start": Mark("ms", 200, None),
    "proxy_throughput": Mark("MB/s", 300, 150),
    "proxy_request": Mark("ms", 3, 10),
    "proxy_request_work": Mark("ms", 1.7, 3),
    "proxy_rss": Mark("MB", 40, None),
    "package_deb": Mark("MB", 80, 90),
    "package_installed": Mark("MB", 210, 230),
    "package_appimage": Mark("MB", 90, None),
    "installed_window_warm": Mark("ms", 500, 1000),
    "installed_window_work": Mark("ms", None, None),
    "installed_first_request_work": Mark("ms", None, None),
    "installed_window_cold": Mark("ms", 1000, 2000),
    "installed_demo_answer": Mark("ms", 200, 500),
    "installed_first_request": Mark("ms", 2500, 3000),
}


def report(name: str, value: float, *, floor: float | None = None) -> None:
    """Print one result; `floor` is for floors measured in the same run."""
    mark = MARKS[name]
    line = {
        "name": name,
        "value": round(value, 3),
        "unit": mark.unit,
        "goal": mark.goal,
        "gate": mark.gate,
        "floor": mark.floor if floor is None else round(floor, 3),
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
