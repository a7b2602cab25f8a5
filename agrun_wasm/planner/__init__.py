"""The planner: what a model is offered and told, and how its reply becomes one decision. It runs nothing."""
