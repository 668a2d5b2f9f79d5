"""The tests mirror `src/`; `tests.contract` holds what every loss and every kernel must satisfy."""
