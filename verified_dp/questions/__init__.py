"""Questions that people ask in one line, answered from enclosures alone: nothing here proves more than they do."""
