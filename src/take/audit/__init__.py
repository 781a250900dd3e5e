"""What may be said of a distilled set before it is given away: privacy, balance, report, card."""
