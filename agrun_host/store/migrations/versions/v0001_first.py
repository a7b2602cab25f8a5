"""The first tables. Written out, not taken from tables.py, which goes on changing."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "agrun_runs",
        sa.Column("id", sa.String(200), primary_key=True),
        sa.Column("session_id", sa.String(200), index=True),
        sa.Column("status", sa.String(20), nullable=False, index=True),
        sa.Column("drive", sa.Integer, nullable=False),
        sa.Column("decisions", sa.Text),
        sa.Column("stop", sa.String(20)),
        sa.Column("result", sa.Text),
        sa.Column("reserved", sa.BigInteger, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("changed_at", sa.Float, nullable=False),
    )
    op.create_table(
        "agrun_states",
        sa.Column("run_id", sa.String(200), primary_key=True),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
    )
    op.create_table(
        "agrun_events",
        sa.Column("run_id", sa.String(200), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("event", sa.Text, nullable=False),
    )
    op.create_table(
        "agrun_sessions",
        sa.Column("id", sa.String(200), primary_key=True),
        sa.Column("history", sa.Text, nullable=False),
        sa.Column("holder", sa.String(200)),
        sa.Column("revision", sa.Integer, nullable=False),
    )
    op.create_table(
        "agrun_approvals",
        sa.Column("id", sa.String(300), primary_key=True),
        sa.Column("run_id", sa.String(200), nullable=False, index=True),
    )
    op.create_table("agrun_executors", sa.Column("id", sa.String(200), primary_key=True))


def downgrade() -> None:
    for name in ("executors", "approvals", "sessions", "events", "states", "runs"):
        op.drop_table(f"agrun_{name}")
