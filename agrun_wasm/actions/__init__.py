"""Actions: their definition, registry, argument validation, policy, guardrail, and the built-ins of no other room."""
