"""Writing by the workers of a cluster of dask.distributed: what `to_geotiff` does where a client is active.

The raster is cut into parts (`_core.Parts`). Workers encode them where their pixels are, reduce them for the
overviews, and hand on a few reduced pixels; encoded blocks wait in part files beside the target, or travel as
results where all of them are few bytes; one task makes the file of them, with the bytes of a local write. If the
target is in a bucket, encoded blocks stay with the workers, which send them as parts of one upload. No pixel passes
the client or the scheduler.

`write` is the door; `workers` is what is known of a cluster, `folder` where part files are, `sizes` how large
parts are, `graph` the tasks that the scheduler gets, `tasks` what runs on the workers; `bucket` and `uploading` are
the same for buckets.
"""
