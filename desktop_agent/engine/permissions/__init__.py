"""What a tool call may do: scope, protected files, rules, approvals."""
