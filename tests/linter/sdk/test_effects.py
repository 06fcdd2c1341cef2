"""The tables of cleanup effects answer for the names that handlers use, and say why."""

from __future__ import annotations

from collections import Counter

import pytest
from durable_lint.sdk import effects


def _names(text: str) -> list[str]:
    return text.split()


LOCAL_MANAGERS = _names(
    """
    threading.Lock threading.RLock threading.Condition asyncio.Lock open io.open pathlib.Path.open gzip.open
    contextlib.nullcontext contextlib.redirect_stdout contextlib.suppress warnings.catch_warnings
    decimal.localcontext memoryview concurrent.futures.ThreadPoolExecutor multiprocessing.pool.ThreadPool
    socket.create_connection requests.Session requests.get httpx.Client httpx.AsyncClient
    aiohttp.ClientSession urllib.request.urlopen zipfile.ZipFile tarfile.open subprocess.Popen
    opentelemetry.trace.get_tracer.start_as_current_span opentelemetry.trace.use_span
    opentelemetry.trace.get_tracer.start_span ddtrace.tracer.trace sentry_sdk.start_span
    sentry_sdk.push_scope aws_xray_sdk.core.xray_recorder.in_subsegment newrelic.agent.BackgroundTask
    structlog.contextvars.bound_contextvars loguru.logger.contextualize tqdm.tqdm tqdm.auto.tqdm
    rich.progress.Progress prometheus_client.Histogram.time statsd.StatsClient.timer
    aws_lambda_powertools.metrics.single_metric aws_lambda_powertools.single_metric
    aws_lambda_powertools.Logger.append_context_keys numpy.errstate pandas.option_context pymysql.connect
    pymysql.connections.Connection mysql.connector.connect asyncpg.create_pool asyncpg.create_pool.acquire
    psycopg.connect.cursor redis.Redis redis.from_url.pipeline pymongo.MongoClient moto.mock_aws
    unittest.mock.patch unittest.mock.patch.object freezegun.freeze_time pytest.raises botocore.stub.Stubber
    """
)

OUTSIDE_MANAGERS = _names(
    """
    tempfile.TemporaryDirectory tempfile.NamedTemporaryFile multiprocessing.Lock
    multiprocessing.get_context.Lock filelock.FileLock filelock.SoftFileLock.acquire portalocker.Lock
    redis.Redis.lock redis.from_url.lock redis.asyncio.Redis.lock sqlite3.connect psycopg.connect
    psycopg.connect.transaction psycopg2.connect psycopg_pool.ConnectionPool.connection
    asyncpg.connect.transaction sqlalchemy.create_engine.begin sqlalchemy.engine.create_engine.begin
    sqlalchemy.create_engine.connect sqlalchemy.Engine.connect sqlalchemy.engine.Engine.begin
    sqlalchemy.create_engine.connect.begin sqlalchemy.orm.Session sqlalchemy.orm.sessionmaker
    sqlalchemy.orm.sessionmaker.begin sqlalchemy.orm.session.Session.begin_nested
    sqlalchemy.ext.asyncio.create_async_engine.begin boto3.resource.Table.batch_writer
    boto3.Session.resource.Table.batch_writer pymongo.MongoClient.start_session pandas.ExcelWriter
    sentry_sdk.monitor shelve.open
    """
)

LOCAL_CALLS = _names(
    """
    print builtins.print len isinstance list.append dict.pop set.discard str.join ValueError
    BaseException.add_note logging.getLogger logging.getLogger.info logging.getLogger.exception logging.info
    logging.LoggerAdapter.debug structlog.get_logger.info loguru.logger.info warnings.warn
    traceback.print_exc time.perf_counter time.sleep datetime.datetime.now.isoformat
    contextvars.ContextVar.reset threading.Lock.release threading.RLock.release threading.Event.set
    queue.Queue.put concurrent.futures.ThreadPoolExecutor.shutdown gc.collect signal.signal os.chdir
    os.environ.pop os.environ.update os.getcwd os.path.exists open.close open.flush pathlib.Path.exists
    socket.socket.close socket.create_connection.close requests.Session.close httpx.Client.close
    urllib3.PoolManager.clear sqlite3.connect.close psycopg.connect.close psycopg2.connect.close
    pymysql.connect.close mysql.connector.connect.close asyncpg.create_pool.close
    sqlalchemy.create_engine.dispose redis.Redis.close pymongo.MongoClient.close boto3.client
    boto3.client.close zipfile.ZipFile.close opentelemetry.context.detach
    opentelemetry.trace.get_current_span.end opentelemetry.trace.get_tracer.start_span.end
    ddtrace.tracer.current_span.finish aws_xray_sdk.core.xray_recorder.end_subsegment
    sentry_sdk.capture_exception newrelic.agent.notice_error aws_lambda_powertools.Metrics.add_metric
    aws_lambda_powertools.Logger.info
    aws_embedded_metrics.logger.metrics_logger_factory.create_metrics_logger.flush
    prometheus_client.Gauge.dec prometheus_client.Gauge.labels.dec statsd.StatsClient.incr tqdm.tqdm.close
    rich.print sys.stdout.flush sys.stderr.write structlog.contextvars.clear_contextvars
    subprocess.Popen.kill tracemalloc.stop unittest.mock.patch.stopall
    aws_durable_execution_sdk_python.DurableContext.logger.info
    aws_durable_execution_sdk_python.context.DurableContext.logger.info
    """
)

OUTSIDE_CALLS = _names(
    """
    shutil.rmtree os.unlink os.remove os.rmdir os.makedirs os.rename pathlib.Path.unlink pathlib.Path.rmdir
    pathlib.Path.joinpath.unlink pathlib.Path.with_suffix.write_text open.write
    tempfile.TemporaryDirectory.cleanup tempfile.NamedTemporaryFile.close boto3.client.put_metric_data
    boto3.client.terminate_instances boto3.Session.client.delete_object boto3.resource.Table.delete_item
    boto3.client.get_waiter.wait requests.delete requests.post requests.Session.post httpx.post
    urllib.request.urlopen multiprocessing.Lock.release filelock.FileLock.release portalocker.Lock.release
    redis.Redis.delete redis.Redis.lock.release redis.from_url.set sqlite3.connect.commit
    sqlite3.connect.rollback psycopg.connect.rollback pymysql.connect.commit sqlalchemy.orm.Session.close
    sqlalchemy.orm.Session.rollback sqlalchemy.create_engine.connect.close
    pymongo.MongoClient.start_session.abort_transaction subprocess.run os.system
    prometheus_client.push_to_gateway exec zipfile.ZipFile.writestr
    """
)


@pytest.mark.parametrize("name", LOCAL_MANAGERS)
def test_a_manager_of_this_process_is_local(name: str) -> None:
    entry = effects.manager(name)
    assert entry is not None
    assert entry.local


@pytest.mark.parametrize("name", OUTSIDE_MANAGERS)
def test_a_manager_that_reaches_outside_is_not_local(name: str) -> None:
    entry = effects.manager(name)
    assert entry is not None
    assert not entry.local


@pytest.mark.parametrize("name", LOCAL_CALLS)
def test_a_call_in_this_process_is_local(name: str) -> None:
    entry = effects.call(name)
    assert entry is not None
    assert entry.local


@pytest.mark.parametrize("name", OUTSIDE_CALLS)
def test_a_call_that_reaches_outside_is_not_local(name: str) -> None:
    entry = effects.call(name)
    assert entry is not None
    assert not entry.local


@pytest.mark.parametrize(
    "name",
    [
        "inventory.release",
        "list.pop.terminate",  # what a container held is not the container
        "collections.deque.popleft.delete",
        "queue.Queue.get.close",
        "typing.cast.terminate",
        "concurrent.futures.Future.result.terminate",
        "next.terminate",
        "contextvars.ContextVar.get.close",
        "",
    ],
)
def test_what_no_table_knows_has_no_entry(name: str) -> None:
    assert effects.call(name) is None
    assert effects.manager(name) is None


@pytest.mark.parametrize("name", ["asyncio.TaskGroup", "sentry_sdk.utils.capture_internal_exceptions"])
def test_a_manager_that_keeps_a_suspension_says_so(name: str) -> None:
    entry = effects.manager(name)
    assert entry is not None
    assert entry.swallows


def test_suppress_by_itself_swallows_only_what_it_names() -> None:
    entry = effects.manager("contextlib.suppress")
    assert entry is not None
    assert not entry.swallows
    assert "contextlib.suppress" in effects.SUPPRESSORS


@pytest.mark.parametrize("name", ["map", "asyncio.run", "concurrent.futures.ThreadPoolExecutor.submit"])
def test_a_call_that_runs_its_arguments_says_so(name: str) -> None:
    entry = effects.call(name)
    assert entry is not None
    assert entry.local
    assert entry.runs_arguments


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("logger", "info"),
        ("_log", "exception"),
        ("LOG", "warning"),
        ("audit_logger", "debug"),
        ("span", "end"),
        ("parent_span", "set_attribute"),
        ("tracer", "start_as_current_span"),
        ("metrics", "add_metric"),
        ("statsd", "incr"),
        ("in_flight_gauge", "dec"),
        ("timer", "stop"),
        ("progress_bar", "update"),
        ("pbar", "close"),
    ],
)
def test_a_name_that_says_logging_tracing_or_timing_makes_its_methods_local(name: str, method: str) -> None:
    entry = effects.receiver(name, method)
    assert entry is not None
    assert entry.local


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("logger", "close"),
        ("catalog", "info"),
        ("blog", "log"),
        ("metrics", "put_metric_data"),
        ("counter", "delete"),
        ("lease", "release"),
        ("connection", "close"),
        ("span_store", "end"),
        ("", "info"),
    ],
)
def test_another_name_or_method_says_nothing(name: str, method: str) -> None:
    assert effects.receiver(name, method) is None


@pytest.mark.parametrize("table", [effects.MANAGERS, effects.CALLS], ids=["managers", "calls"])
class TestTables:
    def test_every_entry_has_a_reason_that_ends_a_sentence_about_the_callable(
        self, table: tuple[effects.Entry, ...]
    ) -> None:
        for entry in table:
            assert entry.reason
            assert entry.reason[0].islower(), entry
            assert not entry.reason.endswith("."), entry

    def test_no_name_stands_twice(self, table: tuple[effects.Entry, ...]) -> None:
        assert [name for name, times in Counter(entry.name for entry in table).items() if times > 1] == []

    def test_a_star_is_a_whole_segment_and_two_stand_at_the_end(
        self, table: tuple[effects.Entry, ...]
    ) -> None:
        for entry in table:
            segments = entry.name.split(".")
            assert "**" not in segments[:-1], entry
            assert all(segment in ("*", "**") or "*" not in segment for segment in segments), entry

    def test_every_entry_is_found_under_its_own_name(self, table: tuple[effects.Entry, ...]) -> None:
        look_up = effects.manager if table is effects.MANAGERS else effects.call
        for entry in table:
            found = look_up(entry.name.replace("**", "deep.er").replace("*", "any"))
            assert found is not None, entry
            assert (found.local, found.reason) == (entry.local, entry.reason), entry
