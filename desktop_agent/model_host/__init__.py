"""The process in which litellm lives; nothing else imports litellm."""
