"""What a server keeps in its database: runs, their events, sessions and answered approvals.

SQLAlchemy on SQLite or PostgreSQL. Must not know: HTTP, DBOS, how a run is driven.
"""
