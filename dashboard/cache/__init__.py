"""Results kept between reruns and shared by sessions."""
