"""What cleanup code of common libraries touches: this process, or the world outside it. Tables and look-ups.

The tables hold qualified names and reasons, from the libraries' documentation. They know nothing of syntax
trees, settings or rules. Who asks them spells what a handler wrote as a qualified name:

- a module's function or class by its import path: `shutil.rmtree`, `threading.Lock`;
- a method by the callable that made the object: `boto3.client.terminate_instances`, or by the class that an
  annotation names: `sqlalchemy.Engine.begin`;
- a chain of calls and attributes by all its names: `boto3.Session.client.delete_object`;
- a method of a literal by its type: `list.append`, `dict.pop`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one callable, or of all that a pattern matches.

    `name` is qualified. A `*` stands for one segment (`concurrent.futures.*.shutdown`), a `**` at the end for
    one or more.
    `local` says whether the effect stays in this process and is right to run when an invocation ends.
    `reason` completes a sentence whose subject is the callable, without a full stop.
    `swallows` is true for a manager that keeps every `BaseException` of its body from leaving as itself.
    `runs_arguments` is true for a callable that runs the functions or awaitables handed to it: it is as local
    as they are.
    """

    name: str
    local: bool
    reason: str
    swallows: bool = False
    runs_arguments: bool = False


def manager(qualified: str) -> Entry | None:
    """Tell what the exit of a context manager does: the one that calling `qualified` returns."""
    name = _canonical(qualified)
    return _find(name, _MANAGER_TREE) or _find(_returned(name), _MANAGER_TREE)


def call(qualified: str) -> Entry | None:
    """Tell what calling `qualified` does: a function, a class, or a method."""
    return _find(_canonical(qualified), _CALL_TREE)


def receiver(name: str, method: str) -> Entry | None:
    """Tell what `method` does on an object of which only its name is known (`_log` for `self._log`).

    Only names that say logging, tracing, metrics, timing or progress have entries, and of those only the
    methods that such objects have: `logger.info` has one, `logger.close` has none.
    """
    words = name.strip("_").lower().rsplit("_", 1)
    for word in (words[-1], "".join(words)):
        kind = METHOD_NAMES_LOCAL.get(word)
        if kind is not None and method in kind.methods:
            return Entry(f"{name}.{method}", True, kind.reason)
    return None


# ---------------------------------------------------------------- one name for one thing

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "IOError": "OSError",
        "_thread.allocate_lock": "threading.Lock",
        "_thread.RLock": "threading.RLock",
        "aws_durable_execution_sdk_python.context": "aws_durable_execution_sdk_python",
        "aws_durable_execution_sdk_python.types": "aws_durable_execution_sdk_python",
        "aws_embedded_metrics.logger.metrics_logger.MetricsLogger": "aws_embedded_metrics.MetricsLogger",
        "aws_embedded_metrics.logger.metrics_logger_factory.create_metrics_logger": (
            "aws_embedded_metrics.create_metrics_logger"
        ),
        "aws_lambda_powertools.logging.Logger": "aws_lambda_powertools.Logger",
        "aws_lambda_powertools.logging.logger.Logger": "aws_lambda_powertools.Logger",
        "aws_lambda_powertools.metrics.Metrics": "aws_lambda_powertools.Metrics",
        "aws_lambda_powertools.metrics.metrics.Metrics": "aws_lambda_powertools.Metrics",
        "aws_lambda_powertools.metrics.EphemeralMetrics": "aws_lambda_powertools.Metrics",
        "aws_lambda_powertools.single_metric": "aws_lambda_powertools.metrics.single_metric",
        "aws_lambda_powertools.tracing.Tracer": "aws_lambda_powertools.Tracer",
        "aws_lambda_powertools.tracing.tracer.Tracer": "aws_lambda_powertools.Tracer",
        "aws_xray_sdk.core.recorder.AWSXRayRecorder": "aws_xray_sdk.core.xray_recorder",
        "aws_xray_sdk.core.async_recorder.AsyncAWSXRayRecorder": "aws_xray_sdk.core.xray_recorder",
        "asyncio.locks": "asyncio",
        "asyncio.tasks": "asyncio",
        "asyncio.timeouts": "asyncio",
        "asyncio.taskgroups": "asyncio",
        "asyncpg.connection.Connection": "asyncpg.Connection",
        "asyncpg.pool.Pool": "asyncpg.Pool",
        "boto3.session.Session": "boto3.Session",
        "builtins": "",
        "collections.abc": "typing",
        "concurrent.futures.process.ProcessPoolExecutor": "concurrent.futures.ProcessPoolExecutor",
        "concurrent.futures.thread.ThreadPoolExecutor": "concurrent.futures.ThreadPoolExecutor",
        "ddtrace.trace.tracer": "ddtrace.tracer",
        "ddtrace.trace.Tracer": "ddtrace.tracer",
        "freezegun.api.freeze_time": "freezegun.freeze_time",
        "httpx._client.AsyncClient": "httpx.AsyncClient",
        "httpx._client.Client": "httpx.Client",
        "multiprocessing.context": "multiprocessing",
        "multiprocessing.synchronize": "multiprocessing",
        "mysql.connector.connection.MySQLConnection": "mysql.connector.Connection",
        "mysql.connector.MySQLConnection": "mysql.connector.Connection",
        "mysql.connector.connection_cext.CMySQLConnection": "mysql.connector.Connection",
        "numpy.core.errstate": "numpy.errstate",
        "opentelemetry.sdk.trace.Span": "opentelemetry.trace.Span",
        "opentelemetry.sdk.trace.Tracer": "opentelemetry.trace.Tracer",
        "opentelemetry.trace.span.Span": "opentelemetry.trace.Span",
        "psycopg.connection.Connection": "psycopg.Connection",
        "psycopg.connection_async.AsyncConnection": "psycopg.AsyncConnection",
        "psycopg2.extensions.connection": "psycopg2.Connection",
        "pymongo.mongo_client.MongoClient": "pymongo.MongoClient",
        "pymongo.client_session.ClientSession": "pymongo.ClientSession",
        "pymysql.connections.Connection": "pymysql.Connection",
        "redis.client.Redis": "redis.Redis",
        "redis.StrictRedis": "redis.Redis",
        "redis.client.StrictRedis": "redis.Redis",
        "redis.cluster.RedisCluster": "redis.Redis",
        "redis.RedisCluster": "redis.Redis",
        "redis.asyncio.Redis": "redis.Redis",
        "redis.asyncio.client.Redis": "redis.Redis",
        "redis.asyncio.StrictRedis": "redis.Redis",
        "redis.asyncio.from_url": "redis.from_url",
        "redis.asyncio.lock.Lock": "redis.lock.Lock",
        "requests.models.Response": "requests.Response",
        "requests.sessions.Session": "requests.Session",
        "requests.sessions.session": "requests.Session",
        "requests.session": "requests.Session",
        "socket.SocketType": "socket.socket",
        "sqlalchemy.engine.Connection": "sqlalchemy.Connection",
        "sqlalchemy.engine.Engine": "sqlalchemy.Engine",
        "sqlalchemy.engine.base.Connection": "sqlalchemy.Connection",
        "sqlalchemy.engine.base.Engine": "sqlalchemy.Engine",
        "sqlalchemy.engine.create_engine": "sqlalchemy.create_engine",
        "sqlalchemy.ext.asyncio.engine.AsyncEngine": "sqlalchemy.ext.asyncio.AsyncEngine",
        "sqlalchemy.orm.session.Session": "sqlalchemy.orm.Session",
        "sqlalchemy.orm.session.sessionmaker": "sqlalchemy.orm.sessionmaker",
        "structlog.get_logger": "structlog.Logger",
        "structlog.getLogger": "structlog.Logger",
        "structlog.stdlib.get_logger": "structlog.Logger",
        "structlog.stdlib.BoundLogger": "structlog.Logger",
        "structlog.BoundLogger": "structlog.Logger",
        "structlog.typing.FilteringBoundLogger": "structlog.Logger",
        "tqdm.auto": "tqdm",
        "tqdm.asyncio": "tqdm",
        "tqdm.autonotebook": "tqdm",
        "tqdm.notebook": "tqdm",
        "tqdm.std": "tqdm",
        "typing_extensions": "typing",
        "unittest.mock.patch": "mock.patch",
    }
)
"""Other spellings of a name. An alias counts as a whole name and as the start of a longer one."""

RETURNS: Mapping[str, str] = MappingProxyType(
    {
        "asyncio.get_event_loop": "asyncio.AbstractEventLoop",
        "asyncio.get_running_loop": "asyncio.AbstractEventLoop",
        "asyncio.new_event_loop": "asyncio.AbstractEventLoop",
        "asyncio.create_task": "asyncio.Task",
        "asyncio.ensure_future": "asyncio.Task",
        "asyncpg.connect": "asyncpg.Connection",
        "asyncpg.create_pool": "asyncpg.Pool",
        "aws_embedded_metrics.create_metrics_logger": "aws_embedded_metrics.MetricsLogger",
        "boto3.client": "botocore.client.BaseClient",
        "boto3.Session.client": "botocore.client.BaseClient",
        "botocore.session.get_session.create_client": "botocore.client.BaseClient",
        "botocore.session.Session.create_client": "botocore.client.BaseClient",
        "boto3.Session.resource": "boto3.resource",
        "bz2.open": "io.IOBase",
        "bz2.BZ2File": "io.IOBase",
        "codecs.open": "io.IOBase",
        "concurrent.futures.ProcessPoolExecutor.submit": "concurrent.futures.Future",
        "concurrent.futures.ThreadPoolExecutor.submit": "concurrent.futures.Future",
        "contextvars.copy_context": "contextvars.Context",
        "ddtrace.tracer.trace": "ddtrace.trace.Span",
        "ddtrace.tracer.start_span": "ddtrace.trace.Span",
        "ddtrace.tracer.current_span": "ddtrace.trace.Span",
        "ddtrace.tracer.current_root_span": "ddtrace.trace.Span",
        "gzip.open": "io.IOBase",
        "gzip.GzipFile": "io.IOBase",
        "io.open": "io.IOBase",
        "io.FileIO": "io.IOBase",
        "io.TextIOWrapper": "io.IOBase",
        "io.BufferedReader": "io.IOBase",
        "io.BufferedWriter": "io.IOBase",
        "typing.TextIO": "io.IOBase",
        "typing.BinaryIO": "io.IOBase",
        "typing.IO": "io.IOBase",
        "httpx.get": "httpx.Response",
        "httpx.post": "httpx.Response",
        "httpx.put": "httpx.Response",
        "httpx.request": "httpx.Response",
        "httpx.AsyncClient": "httpx.Client",
        "logging.getLogger": "logging.Logger",
        "logging.LoggerAdapter": "logging.Logger",
        "lzma.open": "io.IOBase",
        "lzma.LZMAFile": "io.IOBase",
        "multiprocessing.get_context": "multiprocessing",
        "mysql.connector.connect": "mysql.connector.Connection",
        "open": "io.IOBase",
        "opentelemetry.metrics.get_meter": "opentelemetry.metrics.Meter",
        "opentelemetry.trace.get_tracer": "opentelemetry.trace.Tracer",
        "opentelemetry.trace.get_current_span": "opentelemetry.trace.Span",
        "opentelemetry.trace.Tracer.start_span": "opentelemetry.trace.Span",
        "opentelemetry.trace.get_tracer_provider": "opentelemetry.sdk.trace.TracerProvider",
        "os.fdopen": "io.IOBase",
        "pathlib.Path.open": "io.IOBase",
        "pathlib.PosixPath": "pathlib.Path",
        "pathlib.Path.absolute": "pathlib.Path",
        "pathlib.Path.cwd": "pathlib.Path",
        "pathlib.Path.expanduser": "pathlib.Path",
        "pathlib.Path.home": "pathlib.Path",
        "pathlib.Path.joinpath": "pathlib.Path",
        "pathlib.Path.parent": "pathlib.Path",
        "pathlib.Path.readlink": "pathlib.Path",
        "pathlib.Path.relative_to": "pathlib.Path",
        "pathlib.Path.rename": "pathlib.Path",
        "pathlib.Path.replace": "pathlib.Path",
        "pathlib.Path.resolve": "pathlib.Path",
        "pathlib.Path.with_name": "pathlib.Path",
        "pathlib.Path.with_segments": "pathlib.Path",
        "pathlib.Path.with_stem": "pathlib.Path",
        "pathlib.Path.with_suffix": "pathlib.Path",
        "psycopg.connect": "psycopg.Connection",
        "psycopg.Connection.connect": "psycopg.Connection",
        "psycopg.AsyncConnection.connect": "psycopg.Connection",
        "psycopg.AsyncConnection": "psycopg.Connection",
        "psycopg_pool.AsyncConnectionPool": "psycopg_pool.ConnectionPool",
        "psycopg2.connect": "psycopg2.Connection",
        "pymongo.MongoClient.start_session": "pymongo.ClientSession",
        "pymysql.connect": "pymysql.Connection",
        "pymysql.Connect": "pymysql.Connection",
        "redis.from_url": "redis.Redis",
        "redis.Redis.from_url": "redis.Redis",
        "redis.Redis.lock": "redis.lock.Lock",
        "requests.delete": "requests.Response",
        "requests.get": "requests.Response",
        "requests.head": "requests.Response",
        "requests.patch": "requests.Response",
        "requests.post": "requests.Response",
        "requests.put": "requests.Response",
        "requests.request": "requests.Response",
        "requests.Session.delete": "requests.Response",
        "requests.Session.get": "requests.Response",
        "requests.Session.head": "requests.Response",
        "requests.Session.patch": "requests.Response",
        "requests.Session.post": "requests.Response",
        "requests.Session.put": "requests.Response",
        "requests.Session.request": "requests.Response",
        "sentry_sdk.start_span": "sentry_sdk.tracing.Span",
        "sentry_sdk.start_transaction": "sentry_sdk.tracing.Span",
        "socket.create_connection": "socket.socket",
        "socket.create_server": "socket.socket",
        "socket.socketpair": "socket.socket",
        "sqlalchemy.create_engine": "sqlalchemy.Engine",
        "sqlalchemy.create_mock_engine": "sqlalchemy.Engine",
        "sqlalchemy.engine_from_config": "sqlalchemy.Engine",
        "sqlalchemy.Engine.connect": "sqlalchemy.Connection",
        "sqlalchemy.ext.asyncio.create_async_engine": "sqlalchemy.Engine",
        "sqlalchemy.ext.asyncio.AsyncEngine": "sqlalchemy.Engine",
        "sqlalchemy.ext.asyncio.AsyncConnection": "sqlalchemy.Connection",
        "sqlalchemy.ext.asyncio.AsyncSession": "sqlalchemy.orm.Session",
        "sqlalchemy.ext.asyncio.async_sessionmaker": "sqlalchemy.orm.sessionmaker",
        "sqlalchemy.orm.sessionmaker.__call__": "sqlalchemy.orm.Session",
        "sqlite3.connect": "sqlite3.Connection",
        "sqlite3.dbapi2.connect": "sqlite3.Connection",
        "sys.stderr": "io.StandardStream",
        "sys.stdout": "io.StandardStream",
        "sys.__stderr__": "io.StandardStream",
        "sys.__stdout__": "io.StandardStream",
        "tarfile.TarFile.open": "tarfile.open",
        "tarfile.TarFile": "tarfile.open",
        "urllib.request.urlopen": "http.client.HTTPResponse",
    }
)
"""The class of what a callable returns (or the callable itself, where its class has no public name)."""

CLOSERS: Mapping[str, str] = MappingProxyType(
    {"contextlib.closing": "close", "contextlib.aclosing": "aclose"}
)
"""Managers whose exit calls this method of their argument, and nothing else."""

SUPPRESSORS: frozenset[str] = frozenset(
    {
        "contextlib.suppress",
        "loguru.logger.catch",
        "pytest.raises",
        "unittest.TestCase.assertRaises",
        "unittest.TestCase.assertRaisesRegex",
    }
)
"""Managers that swallow the exceptions their arguments name, and no others."""

ARCHIVES: Mapping[str, int] = MappingProxyType(
    {
        "zipfile.ZipFile": 1,
        "zipfile.PyZipFile": 1,
        "tarfile.open": 1,
        "tarfile.TarFile": 1,
        "tarfile.TarFile.open": 1,
    }
)
"""Archives, and the position of `mode`: closing one that was opened in any mode but `r...` writes its end."""

ARCHIVE_WRITTEN = "writes the archive's end, which then holds half of the content"
"""The reason for an archive that is opened in any mode but `r`."""


# ---------------------------------------------------------------- objects that only have a name


@dataclass(frozen=True, slots=True)
class NamedKind:
    """Method names that are process-local on every object whose name ends in a certain word."""

    reason: str
    methods: frozenset[str] = field(repr=False)


def _kinds(reason: str, words: str, methods: str) -> Iterable[tuple[str, NamedKind]]:
    kind = NamedKind(reason, frozenset(methods.split()))
    return [(word, kind) for word in words.split()]


METHOD_NAMES_LOCAL: Mapping[str, NamedKind] = MappingProxyType(
    dict(
        [
            *_kinds(
                "writes or labels log records",
                "logger log logging",
                """
                debug info warning warn error exception critical fatal log notice success trace msg bind
                unbind try_unbind new contextualize append_keys append_context_keys remove_keys set_keys
                clear_state set_correlation_id thread_safe_append_keys setLevel addHandler removeHandler
                addFilter removeFilter isEnabledFor flush_buffer
                """,
            ),
            *_kinds(
                "ends or labels a tracing span",
                "span segment subsegment transaction",
                """
                end finish set_attribute set_attributes add_event add_link record_exception set_status
                update_name is_recording set_tag set_tags set_data set_context set_error set_exc_info
                set_traceback put_annotation put_metadata add_exception set_metric
                """,
            ),
            *_kinds(
                "opens, ends or labels tracing spans",
                "tracer recorder",
                """
                start_as_current_span start_span use_span trace wrap in_segment in_subsegment
                in_subsegment_async begin_segment end_segment begin_subsegment end_subsegment
                put_annotation put_metadata current_span current_segment current_subsegment capture_method
                """,
            ),
            *_kinds(
                "writes metrics, which are log lines or counters in memory",
                "metrics metric meter statsd",
                """
                add_metric add_metadata add_dimension set_default_dimensions clear_metrics flush_metrics
                put_metric put_dimensions set_dimensions set_property increment decrement incr decr gauge
                timing timer timed time histogram distribution inc dec observe labels count_exceptions
                track_inprogress set_to_current_time
                """,
            ),
            *_kinds(
                "changes a counter in memory",
                "counter gauge histogram summary",
                "inc dec observe labels time track_inprogress count_exceptions set_to_current_time",
            ),
            *_kinds(
                "measures time in this process",
                "timer stopwatch watch profiler",
                "start stop cancel reset lap elapsed pause resume split enable disable print_stats dump",
            ),
            *_kinds(
                "draws progress in this process",
                "progress pbar bar progressbar spinner",
                """
                update advance close stop start finish refresh reset clear write set_description
                set_postfix add_task remove_task start_task stop_task
                """,
            ),
        ]
    )
)
"""By the last word of an object's name, in lower case. Another name, or another method, says nothing."""


# ---------------------------------------------------------------- managers


def _all(
    local: bool, reason: str, names: str, *, swallows: bool = False, runs: bool = False
) -> tuple[Entry, ...]:
    return tuple(Entry(name, local, reason, swallows, runs) for name in names.split())


MANAGERS: tuple[Entry, ...] = (
    # The standard library.
    *_all(
        True,
        "releases a lock that only this process knows",
        """
        threading.Lock threading.RLock threading.Semaphore threading.BoundedSemaphore threading.Condition
        asyncio.Lock asyncio.Semaphore asyncio.BoundedSemaphore asyncio.Condition anyio.Lock
        anyio.Semaphore anyio.Condition anyio.CapacityLimiter trio.Lock trio.Semaphore
        fasteners.ReaderWriterLock.read_lock fasteners.ReaderWriterLock.write_lock
        """,
    ),
    *_all(
        True,
        "closes a file that the replay opens again",
        """
        io.IOBase io.BytesIO io.StringIO os.scandir os.popen mmap.mmap fileinput.input fileinput.FileInput
        wave.open zipfile.ZipFile.open tarfile.open.extractfile tokenize.open importlib.resources.as_file
        importlib.resources.path PIL.Image.open
        """,
    ),
    *_all(
        True,
        "closes an archive that it only reads",
        "zipfile.ZipFile zipfile.PyZipFile tarfile.open pandas.ExcelFile pandas.read_csv pandas.read_json",
    ),
    *_all(
        True,
        "discards a file without a name, which nothing outside this process can hold",
        "tempfile.TemporaryFile tempfile.SpooledTemporaryFile",
    ),
    *_all(
        True,
        "closes a connection that the replay opens again",
        """
        socket.socket ssl.SSLSocket ssl.SSLContext.wrap_socket http.client.HTTPResponse
        urllib.request.OpenerDirector.open ftplib.FTP ftplib.FTP_TLS smtplib.SMTP smtplib.SMTP_SSL
        imaplib.IMAP4 imaplib.IMAP4_SSL xmlrpc.client.ServerProxy socketserver.** selectors.**
        multiprocessing.connection.Client multiprocessing.connection.Listener
        """,
    ),
    *_all(
        True,
        "restores a setting of this process",
        """
        warnings.catch_warnings decimal.localcontext contextlib.redirect_stdout contextlib.redirect_stderr
        contextlib.chdir contextvars.ContextVar.set numpy.errstate numpy.printoptions
        numpy.testing.suppress_warnings pandas.option_context torch.no_grad torch.enable_grad
        torch.set_grad_enabled torch.inference_mode torch.autocast torch.device torch.random.fork_rng
        tensorflow.device tensorflow.GradientTape matplotlib.rc_context matplotlib.pyplot.rc_context
        matplotlib.style.context dask.config.set django.utils.translation.override flask.Flask.app_context
        flask.Flask.test_request_context mpmath.workdps gmpy2.local_context
        """,
    ),
    *_all(True, "does nothing at its exit", "contextlib.nullcontext"),
    *_all(True, "releases a view of memory", "memoryview"),
    *_all(True, "lets pass whatever its arguments do not name", " ".join(sorted(SUPPRESSORS))),
    *_all(
        True,
        "ends workers that belong to this process",
        """
        concurrent.futures.ThreadPoolExecutor concurrent.futures.ProcessPoolExecutor
        concurrent.futures.InterpreterPoolExecutor concurrent.futures.Executor multiprocessing.Pool
        multiprocessing.pool.Pool multiprocessing.pool.ThreadPool multiprocessing.Manager
        multiprocessing.managers.SyncManager joblib.Parallel joblib.parallel_backend
        joblib.parallel_config subprocess.Popen asyncio.Runner
        """,
    ),
    *_all(
        True,
        "ends a deadline of this process",
        """
        asyncio.timeout asyncio.timeout_at async_timeout.timeout anyio.fail_after anyio.move_on_after
        anyio.CancelScope trio.move_on_after trio.fail_after trio.CancelScope
        """,
    ),
    *_all(
        True,
        "wraps a suspension that leaves its body in an exception group, which is a suspension no more",
        "asyncio.TaskGroup anyio.create_task_group trio.open_nursery",
        swallows=True,
    ),
    *_all(
        True,
        "measures this process",
        """
        cProfile.Profile profile.Profile codetiming.Timer contexttimer.Timer contexttimer.timer
        pyinstrument.Profiler memray.Tracker
        """,
    ),
    *_all(
        False,
        "deletes the directory, and the replay gets another one while step results still name this one",
        "tempfile.TemporaryDirectory ",
    ),
    *_all(
        False,
        "deletes the file, and the replay gets another one while step results still name this one",
        """
        tempfile.NamedTemporaryFile anyio.NamedTemporaryFile anyio.TemporaryDirectory aiofiles.tempfile.**
        """,
    ),
    *_all(
        False,
        "releases a lock that other processes wait for",
        """
        multiprocessing.Lock multiprocessing.RLock multiprocessing.Semaphore
        multiprocessing.BoundedSemaphore multiprocessing.Condition filelock.** portalocker.**
        fasteners.InterProcessLock fasteners.InterProcessReaderWriterLock.** fasteners.interprocess_locked
        redis.lock.Lock redlock.** redis_lock.** pottery.Redlock pottery.NextId python_dynamodb_lock.**
        kazoo.client.KazooClient.** etcd3.client.lock consul.Consul.**
        """,
    ),
    *_all(
        False,
        "frees memory that other processes read",
        "multiprocessing.managers.SharedMemoryManager multiprocessing.managers.SharedMemoryManager.**",
    ),
    *_all(False, "writes the database file", "shelve.open shelve.DbfilenameShelf dbm.open dbm.*.open"),
    # AWS.
    *_all(
        False,
        "sends the buffered items",
        """
        boto3.resource.Table.batch_writer boto3.dynamodb.table.BatchWriter
        boto3.dynamodb.table.TableResource.batch_writer pynamodb.models.Model.batch_write
        pynamodb.transactions.TransactWrite pynamodb.transactions.TransactGet
        """,
    ),
    *_all(
        False,
        "cancels or awaits the transfers",
        "boto3.s3.transfer.S3Transfer s3transfer.manager.TransferManager",
    ),
    *_all(
        True,
        "stops answering for AWS in a test of this process",
        "moto.** botocore.stub.Stubber",
    ),
    *_all(
        True,
        "writes a metric as a log line",
        "aws_lambda_powertools.metrics.single_metric aws_lambda_powertools.metrics.metric.single_metric",
    ),
    *_all(True, "removes keys from log records", "aws_lambda_powertools.Logger.append_context_keys"),
    *_all(
        True,
        "ends a tracing span",
        """
        aws_lambda_powertools.Tracer.** aws_xray_sdk.core.xray_recorder.** aws_xray_sdk.core.models.**
        """,
    ),
    *_all(
        True,
        "clears the records that this process holds",
        "aws_lambda_powertools.utilities.batch.** aws_lambda_powertools.utilities.streaming.**",
    ),
    # Tracing, logging, metrics, errors.
    *_all(
        True,
        "ends a tracing span",
        """
        opentelemetry.trace.Tracer.start_as_current_span opentelemetry.trace.use_span
        opentelemetry.trace.Span opentelemetry.sdk.trace.** opentelemetry.instrumentation.** ddtrace.Span
        ddtrace.tracer.** ddtrace.trace.** ddtrace.llmobs.** newrelic.agent.** newrelic.api.**
        sentry_sdk.tracing.** elasticapm.capture_span logfire.span
        logfire.Logfire.span
        """,
    ),
    *_all(
        True,
        "restores the scope of log records or error reports",
        """
        sentry_sdk.push_scope sentry_sdk.new_scope sentry_sdk.isolation_scope sentry_sdk.configure_scope
        sentry_sdk.Hub sentry_sdk.scope.** structlog.contextvars.bound_contextvars
        structlog.threadlocal.** structlog.testing.** loguru.logger.contextualize
        """,
    ),
    *_all(
        False, "reports to the monitor that the job is over", "sentry_sdk.monitor sentry_sdk.crons.monitor"
    ),
    *_all(
        True,
        "keeps every exception of its body to itself",
        "sentry_sdk.utils.capture_internal_exceptions",
        swallows=True,
    ),
    *_all(
        True,
        "records a metric in this process or as a log line",
        """
        prometheus_client.*.time prometheus_client.*.track_inprogress prometheus_client.*.count_exceptions
        prometheus_client.*.labels.** statsd.StatsClient.** datadog.statsd.** datadog.dogstatsd.**
        ddtrace.internal.**
        """,
    ),
    *_all(
        True,
        "draws in this process's terminal",
        """
        tqdm.tqdm tqdm.trange tqdm.tqdm_notebook tqdm.contrib.** rich.progress.** rich.live.**
        rich.status.** rich.console.Console.* rich.get_console.** alive_progress.** click.progressbar
        yaspin.** halo.Halo enlighten.**
        """,
    ),
    # HTTP.
    *_all(
        True,
        "closes an HTTP connection that the replay opens again",
        """
        requests.Session requests.Response httpx.Client httpx.Client.stream httpx.stream httpx.Response
        aiohttp.ClientSession aiohttp.ClientSession.* aiohttp.request aiohttp.TCPConnector
        urllib3.PoolManager urllib3.ProxyManager urllib3.HTTPConnectionPool urllib3.HTTPSConnectionPool
        urllib3.request urllib3.PoolManager.request grpc.insecure_channel grpc.secure_channel grpc.aio.**
        kubernetes.client.ApiClient websockets.connect websockets.sync.client.connect
        websocket.create_connection docker.from_env docker.DockerClient
        """,
    ),
    # Databases.
    *_all(
        True,
        "closes a database connection that the replay opens again",
        """
        pymysql.Connection pymysql.Connection.cursor mysql.connector.Connection
        mysql.connector.Connection.cursor asyncpg.Pool asyncpg.Pool.acquire psycopg.Connection.cursor
        psycopg.Connection.pipeline psycopg2.Connection.cursor psycopg_pool.ConnectionPool redis.Redis
        redis.Redis.pipeline redis.Redis.pubsub redis.Redis.monitor redis.Redis.client pymongo.MongoClient
        pymongo.AsyncMongoClient pymongo.MongoClient.watch pymongo.MongoClient.*.watch
        motor.motor_asyncio.AsyncIOMotorClient aiosqlite.connect aiosqlite.Connection.execute
        django.db.connection.cursor duckdb.connect snowflake.connector.connect.cursor
        """,
    ),
    *_all(
        False,
        "commits or rolls back",
        """
        sqlite3.Connection psycopg.Connection psycopg.Connection.transaction psycopg2.Connection
        psycopg_pool.ConnectionPool.connection psycopg_pool.ConnectionPool.getconn
        asyncpg.Connection.transaction mysql.connector.Connection.start_transaction
        sqlalchemy.Engine.begin sqlalchemy.Connection sqlalchemy.Connection.begin
        sqlalchemy.Connection.begin_nested sqlalchemy.Connection.begin_twophase sqlalchemy.orm.Session
        sqlalchemy.orm.Session.begin sqlalchemy.orm.Session.begin_nested sqlalchemy.orm.sessionmaker
        sqlalchemy.orm.sessionmaker.begin sqlalchemy.orm.scoped_session
        sqlalchemy.orm.scoped_session.begin sqlalchemy.orm.scoped_session.begin_nested
        sqlalchemy.future.** sqlmodel.Session flask_sqlalchemy.SQLAlchemy.session.**
        django.db.transaction.atomic peewee.*.atomic peewee.*.transaction peewee.*.savepoint
        pony.orm.db_session tortoise.transactions.in_transaction snowflake.connector.connect
        pyodbc.connect cx_Oracle.connect oracledb.connect.begin
        motor.motor_asyncio.AsyncIOMotorClient.start_session
        """,
    ),
    *_all(
        False,
        "aborts the transaction that is open",
        """
        pymongo.ClientSession pymongo.ClientSession.start_transaction neo4j.Session.begin_transaction
        neo4j.GraphDatabase.driver.session
        """,
    ),
    *_all(False, "writes the workbook", "pandas.ExcelWriter xlsxwriter.Workbook pandas.HDFStore"),
    # Tests.
    *_all(
        True,
        "takes back a patch of this process",
        """
        mock.patch mock.patch.object mock.patch.dict mock.patch.multiple pytest.MonkeyPatch.context
        freezegun.freeze_time time_machine.travel responses.mock responses.RequestsMock respx.mock
        requests_mock.Mocker httpretty.enabled vcr.use_cassette vcr.VCR.use_cassette
        """,
    ),
    *_all(
        True,
        "checks what its body did",
        """
        pytest.warns pytest.deprecated_call unittest.TestCase.subTest unittest.TestCase.assertLogs
        unittest.TestCase.assertNoLogs unittest.TestCase.assertWarns unittest.TestCase.assertWarnsRegex
        """,
    ),
    # A browser is a child of this process.
    *_all(
        True,
        "ends a child process that the replay starts again",
        "playwright.sync_api.sync_playwright playwright.async_api.async_playwright",
    ),
)
"""Callables whose result is used in `with`, by what the exit does."""


# ---------------------------------------------------------------- calls

CALLS: tuple[Entry, ...] = (
    # Built-in functions and types.
    *_all(
        True,
        "computes a value or changes memory of this process",
        """
        abs aiter all anext any ascii bin bool bytearray bytes callable chr classmethod complex delattr
        dict dir divmod enumerate float format frozenset getattr globals hasattr hash hex id int
        isinstance issubclass iter len list locals max memoryview min next object oct ord pow property
        range repr reversed round set setattr slice staticmethod str sum super tuple type vars zip
        breakpoint help bool.* bytearray.* bytes.* complex.* dict.* float.* frozenset.* int.* list.*
        memoryview.* object.* range.* set.* str.* tuple.*
        """,
    ),
    *_all(
        True,
        "writes to this process's output, as a log does",
        "print io.StandardStream.** logging.lastResort.**",
    ),
    *_all(
        True,
        "calls the functions handed to it",
        "map filter sorted functools.reduce functools.partial",
        runs=True,
    ),
    *_all(True, "opens a file, which the cleanup may read", "open io.open"),
    *_all(
        True,
        "builds or labels an exception",
        """
        BaseException BaseException.* Exception Exception.* ArithmeticError AssertionError AttributeError
        BaseExceptionGroup BufferError ConnectionError EOFError ExceptionGroup FileExistsError
        FileNotFoundError FloatingPointError GeneratorExit ImportError IndentationError IndexError
        InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError
        ModuleNotFoundError NameError NotADirectoryError NotImplementedError OSError OverflowError
        PermissionError ProcessLookupError RecursionError ReferenceError RuntimeError StopAsyncIteration
        StopIteration SyntaxError SystemError SystemExit TimeoutError TypeError UnboundLocalError
        UnicodeDecodeError UnicodeEncodeError UnicodeError ValueError Warning ZeroDivisionError
        DeprecationWarning RuntimeWarning UserWarning
        """,
    ),
    *_all(
        False,
        "runs code that cannot be seen",
        "exec eval __import__ runpy.** importlib.import_module importlib.reload",
    ),
    # Logging and what the terminal shows.
    *_all(
        True,
        "writes or labels log records",
        """
        logging.** warnings.** traceback.** pprint.** faulthandler.** syslog.** structlog.**
        loguru.logger.** aws_lambda_powertools.Logger.** aws_durable_execution_sdk_python.*.logger.**
        boto3.set_stream_logger boto3.set_stream_logger.** pythonjsonlogger.**
        watchtower.CloudWatchLogHandler.flush
        """,
    ),
    *_all(
        True,
        "draws in this process's terminal",
        """
        tqdm.** rich.** click.echo click.secho click.progressbar.** alive_progress.** yaspin.**
        halo.Halo.** colorama.**
        """,
    ),
    # Time, memory and settings of this process.
    *_all(
        True,
        "reads the clock or pauses this process",
        "time.** datetime.** timeit.** zoneinfo.** calendar.**",
    ),
    *_all(
        True,
        "manages this process's memory",
        "gc.** weakref.** tracemalloc.** ctypes.* resource.*",
    ),
    *_all(
        True,
        "changes a setting of this process",
        """
        contextvars.ContextVar contextvars.ContextVar.* contextvars.Token.* contextvars.Context.* os.chdir
        os.fchdir os.umask os.putenv os.unsetenv os.environ.** os.environb.** os.getenv os.nice
        os.sched_setaffinity signal.* locale.** sys.settrace sys.setprofile sys.setrecursionlimit
        sys.setswitchinterval sys.path.* sys.modules.* sys.meta_path.** sys.path_hooks.** sys.displayhook
        sys.excepthook decimal.** random.* random.*.* numpy.seterr numpy.set_printoptions numpy.random.**
        pandas.set_option pandas.reset_option readline.** atexit.* socket.setdefaulttimeout
        torch.set_grad_enabled torch.cuda.empty_cache torch.manual_seed torch.set_num_threads
        torch.backends.** matplotlib.pyplot.** importlib.invalidate_caches linecache.* re.purge
        """,
    ),
    *_all(
        True,
        "reads something of this process or this machine",
        """
        sys.exc_info sys.exception sys.getsizeof sys.getrefcount sys.intern sys.getrecursionlimit
        sys.gettrace os.getcwd os.getpid os.getppid os.cpu_count os.times os.getloadavg os.stat os.lstat
        os.listdir os.scandir os.walk os.access os.get_terminal_size os.fspath os.fsencode os.fsdecode
        os.path.** os.urandom os.strerror shutil.disk_usage shutil.which shutil.get_terminal_size
        platform.** getpass.getuser pwd.* psutil.** inspect.** types.* glob.** fnmatch.**
        socket.gethostname socket.gethostbyname importlib.metadata.** importlib.resources.** sysconfig.**
        site.** ipaddress.**
        """,
    ),
    *_all(
        True,
        "computes a value",
        """
        math.** cmath.** fractions.** statistics.** numbers.** json.dumps json.loads json.load re.**
        string.** textwrap.** difflib.** unicodedata.** struct.** codecs.** base64.** binascii.**
        hashlib.** hmac.** secrets.** uuid.** zlib.** bz2.compress bz2.decompress lzma.compress
        lzma.decompress gzip.compress gzip.decompress copy.* itertools.* operator.* functools.*
        collections.* collections.*.* heapq.* bisect.* array.* array.*.* enum.* dataclasses.* typing.*
        abc.* pickle.dumps pickle.loads ast.** tokenize.** keyword.** html.** urllib.parse.**
        email.utils.** mimetypes.** graphlib.** contextlib.* pathlib.PurePath pathlib.PurePosixPath.**
        attr.* attrs.* pydantic.* boto3.dynamodb.conditions.** boto3.dynamodb.types.** orjson.**
        simplejson.** ujson.** yaml.safe_load yaml.safe_dump numpy.** pandas.DataFrame pandas.Series
        pandas.to_datetime pandas.concat torch.tensor cachetools.*
        aws_durable_execution_sdk_python.config.** aws_durable_execution_sdk_python.retries.**
        aws_durable_execution_sdk_python.serdes.** botocore.config.Config
        """,
    ),
    *_all(
        True,
        "keeps data in memory",
        "io.StringIO io.BytesIO io.StringIO.* io.BytesIO.* queue.* queue.*.* sched.* sched.*.*",
    ),
    # Threads, tasks, workers.
    *_all(
        True,
        "concerns threads, tasks or workers of this process",
        """
        threading.* threading.*.* asyncio.Lock.* asyncio.Event.* asyncio.Condition.* asyncio.Semaphore.*
        asyncio.BoundedSemaphore.* asyncio.Queue.* asyncio.Task.* asyncio.Future.*
        asyncio.AbstractEventLoop.* asyncio.current_task asyncio.all_tasks asyncio.sleep
        asyncio.get_event_loop asyncio.get_running_loop asyncio.new_event_loop asyncio.set_event_loop
        asyncio.iscoroutine asyncio.Runner.close concurrent.futures.* concurrent.futures.*.*
        multiprocessing.Pool.* multiprocessing.pool.* multiprocessing.pool.*.* multiprocessing.Process.*
        multiprocessing.active_children multiprocessing.current_process multiprocessing.cpu_count
        subprocess.Popen.* os.kill os.killpg os.waitpid os.wait anyio.Event.* anyio.Lock.*
        anyio.CancelScope.cancel trio.CancelScope.cancel joblib.*
        """,
    ),
    *_all(
        True,
        "runs what is handed to it",
        """
        threading.Thread threading.Timer threading.excepthook concurrent.futures.*.submit
        concurrent.futures.*.map multiprocessing.Process multiprocessing.Pool.map
        multiprocessing.Pool.apply multiprocessing.Pool.apply_async multiprocessing.Pool.starmap
        multiprocessing.Pool.map_async multiprocessing.Pool.imap multiprocessing.pool.*.map
        multiprocessing.pool.*.apply multiprocessing.pool.*.apply_async multiprocessing.pool.*.starmap
        multiprocessing.pool.*.map_async multiprocessing.pool.*.imap asyncio.run asyncio.gather
        asyncio.wait asyncio.wait_for asyncio.shield asyncio.create_task asyncio.ensure_future
        asyncio.to_thread asyncio.run_coroutine_threadsafe asyncio.AbstractEventLoop.run_until_complete
        asyncio.Runner.run asyncio.AbstractEventLoop.create_task asyncio.AbstractEventLoop.call_soon
        asyncio.AbstractEventLoop.run_in_executor asyncio.AbstractEventLoop.call_soon_threadsafe
        asyncio.AbstractEventLoop.call_later contextvars.Context.run anyio.run anyio.from_thread.run
        anyio.to_thread.run_sync trio.run sched.scheduler.enter joblib.Parallel.** joblib.delayed
        timeit.timeit
        """,
        runs=True,
    ),
    *_all(
        False,
        "is seen by other processes",
        """
        multiprocessing.Lock.** multiprocessing.RLock.** multiprocessing.Semaphore.**
        multiprocessing.BoundedSemaphore.** multiprocessing.Condition.**
        multiprocessing.shared_memory.SharedMemory.unlink
        multiprocessing.managers.SharedMemoryManager.shutdown filelock.** portalocker.**
        fasteners.InterProcessLock.** fcntl.** redis.lock.Lock.** os.lockf os.posix_fallocate
        """,
    ),
    *_all(
        True,
        "closes this process's end",
        """
        multiprocessing.shared_memory.SharedMemory.close multiprocessing.Queue.*
        multiprocessing.SimpleQueue.* multiprocessing.JoinableQueue.* multiprocessing.Event.*
        multiprocessing.connection.*.close
        """,
    ),
    *_all(
        False,
        "runs a command that cannot be seen",
        """
        subprocess.** os.system os.popen os.spawnl os.spawnv os.spawnvp os.execl os.execv os.execvp
        os.execve os.posix_spawn
        """,
    ),
    # Files.
    *_all(
        True,
        "closes a file that the replay opens again",
        """
        io.IOBase.close io.IOBase.flush io.IOBase.seek io.IOBase.tell io.IOBase.read io.IOBase.readline
        io.IOBase.readlines io.IOBase.fileno io.IOBase.isatty io.IOBase.readable io.IOBase.writable
        io.IOBase.detach os.close os.closerange os.dup os.dup2 os.fsync os.fdopen os.open os.lseek mmap.**
        fileinput.** zipfile.ZipFile.close zipfile.ZipFile.open zipfile.ZipFile.namelist
        zipfile.ZipFile.read tarfile.open.close tarfile.open.getmembers tarfile.open.getnames
        tempfile.TemporaryFile.** tempfile.SpooledTemporaryFile.** tempfile.gettempdir
        PIL.Image.open.close pandas.ExcelFile.close wave.open.close gzip.open bz2.open lzma.open
        tarfile.open zipfile.ZipFile
        """,
    ),
    *_all(True, "names a path or reads it", "pathlib.Path pathlib.Path.* pathlib.PurePath.*"),
    *_all(
        False,
        "changes the file system, where step results may name what it changes",
        """
        os.remove os.unlink os.rmdir os.removedirs os.rename os.renames os.replace os.mkdir os.makedirs
        os.link os.symlink os.truncate os.ftruncate os.write os.chmod os.chown os.mknod os.mkfifo os.utime
        os.pwrite os.sendfile pathlib.Path.unlink pathlib.Path.rmdir pathlib.Path.mkdir
        pathlib.Path.rename pathlib.Path.replace pathlib.Path.touch pathlib.Path.write_text
        pathlib.Path.write_bytes pathlib.Path.symlink_to pathlib.Path.hardlink_to pathlib.Path.chmod
        pathlib.Path.move pathlib.Path.move_into pathlib.Path.copy pathlib.Path.copy_into shutil.**
        tempfile.** io.IOBase.write io.IOBase.writelines io.IOBase.truncate json.dump pickle.dump
        yaml.dump zipfile.ZipFile.** tarfile.open.** shelve.** dbm.** sqlite3.Connection.backup numpy.save
        numpy.savez numpy.savetxt torch.save joblib.dump pandas.ExcelWriter.** pandas.DataFrame.to_csv
        pandas.DataFrame.to_excel pandas.DataFrame.to_json pandas.DataFrame.to_parquet
        pandas.DataFrame.to_pickle pandas.DataFrame.to_sql pandas.HDFStore.**
        """,
    ),
    # Connections.
    *_all(
        True,
        "closes a connection that the replay opens again",
        """
        socket.socket socket.socket.close socket.socket.shutdown socket.socket.detach
        socket.socket.settimeout socket.socket.setblocking socket.socket.setsockopt ssl.**
        http.client.HTTPResponse.** http.client.HTTPConnection.close http.client.HTTPSConnection.close
        smtplib.SMTP.quit smtplib.SMTP.close smtplib.SMTP_SSL.quit smtplib.SMTP_SSL.close ftplib.FTP.quit
        ftplib.FTP.close ftplib.FTP_TLS.quit ftplib.FTP_TLS.close imaplib.IMAP4.logout
        imaplib.IMAP4.shutdown imaplib.IMAP4_SSL.logout selectors.** select.** socketserver.*.server_close
        socketserver.*.shutdown asyncio.StreamWriter.close asyncio.StreamWriter.wait_closed
        telnetlib.Telnet.close
        """,
    ),
    *_all(
        True,
        "closes an HTTP connection that the replay opens again",
        """
        requests.Session requests.Session.close requests.Session.mount requests.Response.close
        requests.Response.json requests.Response.raise_for_status httpx.Client httpx.AsyncClient
        httpx.Client.close httpx.Client.aclose httpx.Response.** aiohttp.ClientSession.close
        aiohttp.TCPConnector.close urllib3.PoolManager urllib3.PoolManager.clear urllib3.*.close
        urllib3.disable_warnings grpc.insecure_channel.close grpc.secure_channel.close grpc.aio.*.close
        kubernetes.client.ApiClient.close websockets.*.close websocket.create_connection.close
        docker.from_env.close docker.DockerClient.close paramiko.SSHClient.close paramiko.Transport.close
        paramiko.SSHClient.open_sftp.close paramiko.SFTPClient.close
        """,
    ),
    *_all(
        True,
        "closes a database connection that the replay opens again",
        """
        sqlite3.Connection.close sqlite3.Connection.cursor.close sqlite3.Connection.interrupt
        psycopg.Connection.close psycopg.Connection.cursor.close psycopg2.Connection.close
        psycopg2.Connection.cursor.close psycopg_pool.ConnectionPool.close
        psycopg_pool.ConnectionPool.putconn psycopg2.pool.*.closeall psycopg2.pool.*.putconn
        pymysql.Connection.close pymysql.Connection.cursor.close mysql.connector.Connection.close
        mysql.connector.Connection.disconnect mysql.connector.Connection.shutdown
        mysql.connector.Connection.cursor.close asyncpg.Connection.close asyncpg.Connection.terminate
        asyncpg.Pool.close asyncpg.Pool.release asyncpg.Pool.terminate sqlalchemy.Engine.dispose
        sqlalchemy.orm.close_all_sessions sqlalchemy.create_engine sqlalchemy.text redis.Redis.close
        redis.Redis.aclose redis.Redis.connection_pool.disconnect redis.ConnectionPool.disconnect
        redis.Redis.pipeline.reset redis.Redis.pubsub.close pymongo.MongoClient.close
        pymongo.AsyncMongoClient.close motor.motor_asyncio.AsyncIOMotorClient.close
        aiosqlite.Connection.close duckdb.connect.close snowflake.connector.connect.close
        pyodbc.connect.close oracledb.connect.close neo4j.GraphDatabase.driver.close
        django.db.connection.close django.db.connections.close_all django.db.close_old_connections
        """,
    ),
    *_all(
        False,
        "sends a request",
        """
        requests.** httpx.** aiohttp.** urllib3.** urllib.request.** http.client.** xmlrpc.** smtplib.**
        ftplib.** imaplib.** poplib.** socket.socket.send socket.socket.sendall socket.socket.sendto
        socket.socket.sendmsg socket.socket.recv grpc.** websockets.** websocket.** docker.**
        kubernetes.** paramiko.** asyncio.StreamWriter.write hvac.** stripe.** slack_sdk.** github.**
        twilio.** openai.** anthropic.**
        """,
    ),
    *_all(
        False,
        "changes or ends a transaction, or sends statements",
        """
        sqlite3.Connection.** psycopg.** psycopg2.** psycopg_pool.** pymysql.** mysql.connector.**
        asyncpg.** aiosqlite.** sqlalchemy.** sqlmodel.** pymongo.** motor.** redis.** peewee.** pony.**
        django.db.** snowflake.** pyodbc.** oracledb.** cx_Oracle.** neo4j.** duckdb.** elasticsearch.**
        opensearchpy.** cassandra.** pynamodb.**
        """,
    ),
    *_all(
        False,
        "sends messages",
        "kafka.** confluent_kafka.** pika.** celery.** kombu.** paho.** nats.** stomp.** aiokafka.**",
    ),
    # AWS.
    *_all(
        True,
        "makes no request",
        """
        boto3.client boto3.resource boto3.Session boto3.Session.client boto3.Session.resource
        boto3.setup_default_session boto3.DEFAULT_SESSION.** botocore.client.BaseClient.close
        botocore.client.BaseClient.can_paginate botocore.client.BaseClient.generate_presigned_url
        botocore.client.BaseClient.generate_presigned_post botocore.client.BaseClient.get_paginator
        botocore.client.BaseClient.get_waiter botocore.client.BaseClient.meta.**
        botocore.client.BaseClient.exceptions.** botocore.exceptions.** boto3.exceptions.**
        botocore.session.** botocore.stub.** boto3.resource.Table boto3.resource.Bucket
        boto3.resource.Object boto3.resource.Queue boto3.resource.Topic boto3.resource.Instance
        boto3.resource.meta.client.close
        """,
    ),
    *_all(
        False,
        "calls AWS",
        """
        botocore.client.BaseClient.** boto3.resource.** boto3.Session.** boto3.dynamodb.table.**
        boto3.s3.** s3transfer.** s3fs.** awswrangler.** aiobotocore.** aioboto3.**
        aws_lambda_powertools.utilities.parameters.set_parameter
        aws_lambda_powertools.utilities.parameters.set_secret
        """,
    ),
    *_all(
        True,
        "writes metrics, which are log lines or counters in memory",
        """
        aws_lambda_powertools.Metrics.** aws_lambda_powertools.metrics.** aws_embedded_metrics.**
        prometheus_client.** statsd.** datadog.statsd.**
        datadog.dogstatsd.** datadog.initialize datadog_lambda.**
        opentelemetry.metrics.**
        """,
    ),
    *_all(
        False,
        "sends metrics to a server",
        """
        prometheus_client.push_to_gateway prometheus_client.pushadd_to_gateway
        prometheus_client.delete_from_gateway prometheus_client.exposition.** datadog.api.**
        """,
    ),
    # Tracing and error reports.
    *_all(
        True,
        "ends, labels or exports tracing spans",
        """
        opentelemetry.** ddtrace.** aws_xray_sdk.** aws_lambda_powertools.Tracer.** newrelic.**
        elasticapm.** logfire.** sentry_sdk.**
        """,
    ),
    *_all(False, "reports to the monitor that the job is over", "sentry_sdk.crons.** sentry_sdk.monitor"),
    # Tests.
    *_all(
        True,
        "concerns a test of this process",
        """
        mock.** unittest.** pytest.** moto.** freezegun.** time_machine.** responses.** respx.**
        requests_mock.** vcr.**
        """,
    ),
)
"""Functions, classes and methods that a cleanup calls, by what the call does."""


# ---------------------------------------------------------------- look-ups


class _Node(dict[str, "_Node"]):
    """One level of the names, by segment; `*` matches any segment."""

    __slots__ = ("entry", "tail")

    def __init__(self) -> None:
        self.entry: Entry | None = None
        """For the name that ends here."""
        self.tail: Entry | None = None
        """For every longer name."""


def _tree(entries: Iterable[Entry]) -> _Node:
    root = _Node()
    for entry in entries:
        segments = entry.name.split(".")
        last = segments[-1] == "**"
        node = root
        for segment in segments[:-1] if last else segments:
            child = node.get(segment)
            if child is None:
                child = node[segment] = _Node()
            node = child
        if last:
            node.tail = entry
        else:
            node.entry = entry
    return root


def _find(name: str, tree: _Node) -> Entry | None:
    return _descend(tree, name.split("."), 0)


def _descend(node: _Node, segments: list[str], at: int) -> Entry | None:
    """The most exact entry: a literal segment before a `*`, a longer match before a shorter one."""
    if at == len(segments):
        return node.entry
    for key in (segments[at], "*"):
        child = node.get(key)
        found = _descend(child, segments, at + 1) if child is not None else None
        if found is not None:
            return found
    return node.tail


def _canonical(qualified: str) -> str:
    """Spell a name as the tables do: no aliases, and for each callable but the last, what it returns."""
    segments = qualified.split(".")
    name = ""
    for segment in segments[:-1]:
        name = _returned(_alias(f"{name}.{segment}" if name else segment))
    return _alias(f"{name}.{segments[-1]}" if name else segments[-1])


def _alias(name: str) -> str:
    return ALIASES.get(name, name)


@cache
def _returned(name: str) -> str:
    while name in RETURNS or name in ALIASES:
        name = RETURNS.get(name) or ALIASES[name]
    return name


_MANAGER_TREE = _tree(MANAGERS)
_CALL_TREE = _tree(CALLS)
