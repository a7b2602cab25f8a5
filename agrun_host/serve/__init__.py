"""The HTTP face of a server: runs, the relays of a page's own calls, and the page. Written against agrun_host.runs."""
