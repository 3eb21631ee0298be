"""From manifests to arrays: schema, file formats, downloads, the cache, synthetic makers."""
