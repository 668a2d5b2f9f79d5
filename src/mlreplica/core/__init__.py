"""What three or more algorithms share; no estimator lives here."""
