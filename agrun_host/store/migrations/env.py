"""How Alembic reaches the database: by the connection that `migrate` hands over."""

from alembic import context

from agrun_host.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table="agrun_schema",
    render_as_batch=True,  # SQLite alters no table in place
)
with context.begin_transaction():
    context.run_migrations()
