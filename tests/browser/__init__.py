"""The notebooks in a real JupyterLab, driven through a browser: `make browser`."""
