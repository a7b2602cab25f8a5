"""What a run was asked for, as a digest: the same key with something else is refused."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("agrun_runs", sa.Column("asked", sa.String(64)))


def downgrade() -> None:
    op.drop_column("agrun_runs", "asked")
