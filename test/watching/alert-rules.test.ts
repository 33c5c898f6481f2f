// Tests the alert rules in promtool. Each alert fires on its own trouble, and none fires on a healthy
// service.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { reportNotRun } from "../support/not-run.ts";
import { findPrometheus, PROMETHEUS_MISSING, runPromtool } from "../support/prometheus.ts";

const RULES_FILES = ["ringback", "database"].map(
	(name) => new URL(`../../ops/prometheus/${name}.rules.yml`, import.meta.url).pathname,
);
const CONFIG_FILE = new URL("../../ops/prometheus/prometheus.yml", import.meta.url).pathname;
const RULES = RULES_FILES.map((file) => readFileSync(file, "utf8")).join("\n");
const OPERATIONS = readFileSync(new URL("../../docs/operations/incidents.md", import.meta.url), "utf8");
const ALERTS = [...RULES.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name = ""]) => name);
const IS_HERE = findPrometheus() !== undefined;

/** Samples of each series in promtool's notation (start, step and count), one sample a minute. */
type Series = Readonly<Record<string, string>>;

const TARGET = 'job="ringback",instance="a:9464"';
const MINUTES = 80;
const steady = (value: number) => `${value}x${MINUTES}`;
const rising = (step: number) => `0+${step}x${MINUTES}`;

/** The series of postgres_exporter 0.11 and node_exporter 1.5. */
const PG = {
	up: 'pg_up{job="postgres",instance="db:9187"}',
	inUse: 'pg_stat_activity_count{job="postgres",instance="db:9187",datname="ringback",state="idle"}',
	limit: 'pg_settings_max_connections{job="postgres",instance="db:9187",server="db:5432"}',
	archiveFailures: 'pg_stat_archiver_failed_count{job="postgres",instance="db:9187"}',
	replica: 'pg_stat_replication_pg_wal_lsn_diff{job="postgres",instance="db:9187",application_name="two"}',
};
const NODE = {
	free: 'node_filesystem_avail_bytes{job="node",instance="db:9100",fstype="ext4",mountpoint="/"}',
	size: 'node_filesystem_size_bytes{job="node",instance="db:9100",fstype="ext4",mountpoint="/"}',
	memoryFree: 'node_memory_MemAvailable_bytes{job="node",instance="db:9100"}',
	memory: 'node_memory_MemTotal_bytes{job="node",instance="db:9100"}',
	clock: 'node_timex_sync_status{job="node",instance="db:9100"}',
};

/** The series of a healthy service: a worker with callbacks, calls and chores. */
const HEALTHY: Series = {
	[`up{${TARGET}}`]: steady(1),
	[`ringback_ready{${TARGET}}`]: steady(1),
	[`ringback_oldest_due_age_seconds{${TARGET}}`]: steady(2),
	[`ringback_attempt_send_delay_seconds_bucket{${TARGET},le="0.5"}`]: rising(600),
	[`ringback_attempt_send_delay_seconds_bucket{${TARGET},le="10"}`]: rising(600),
	[`ringback_attempt_send_delay_seconds_bucket{${TARGET},le="30"}`]: rising(600),
	[`ringback_attempt_send_delay_seconds_bucket{${TARGET},le="+Inf"}`]: rising(600),
	[`ringback_attempts_total{${TARGET},verdict="delivered"}`]: rising(590),
	[`ringback_attempts_total{${TARGET},verdict="retry"}`]: rising(10),
	[`ringback_failing_programmes{${TARGET}}`]: steady(3),
	[`ringback_engines_taken_over_total{${TARGET}}`]: steady(1),
	[`ringback_missed_programmes_total{${TARGET}}`]: steady(0),
	[`ringback_chore_late{${TARGET},chore="approvals"}`]: steady(0),
	[`ringback_waiting_mails{${TARGET}}`]: steady(0),
	[`ringback_unmailed_notices{${TARGET}}`]: steady(0),
	[`ringback_delivery_paused{${TARGET}}`]: steady(0),
	[`ringback_http_requests_total{${TARGET},method="POST",route="/v1/conversions",status="201"}`]:
		rising(1_000),
	[`ringback_http_requests_total{${TARGET},method="POST",route="/v1/conversions",status="503"}`]: rising(5),
	[`ringback_http_requests_total{${TARGET},method="GET",route="/readyz",status="503"}`]: rising(500),
	// A healthy service may refuse many requests of browsers that load a partner's link in advance.
	[`ringback_http_requests_total{${TARGET},method="GET",route="/c/:code",status="503"}`]: rising(500),
	[`ringback_http_request_duration_seconds_bucket{${TARGET},method="POST",route="/v1/conversions",le="1"}`]:
		rising(1_000),
	[`ringback_http_request_duration_seconds_bucket{${TARGET},method="POST",route="/v1/conversions",le="5"}`]:
		rising(1_000),
	[`ringback_http_request_duration_seconds_bucket{${TARGET},method="POST",route="/v1/conversions",le="+Inf"}`]:
		rising(1_000),
	[`ringback_database_waiting{${TARGET}}`]: steady(1),
	[`ringback_database_connections_limit{${TARGET}}`]: steady(10),
	[`ringback_disk_free_bytes{${TARGET}}`]: steady(40),
	[`ringback_disk_size_bytes{${TARGET}}`]: steady(100),
	[`ringback_event_loop_lag_seconds_count{${TARGET}}`]: rising(600),
	[`ringback_event_loop_lag_seconds_bucket{${TARGET},le="0.5"}`]: rising(600),
	[`ringback_clock_offset_seconds{${TARGET}}`]: steady(-0.2),
	[`process_start_time_seconds{${TARGET}}`]: steady(1_000_000),
	[`ringback_build_info{${TARGET},version="1.0.0",role="all"}`]: steady(1),
	[`ringback_log_lines_dropped_total{${TARGET}}`]: steady(0),
	...Object.fromEntries(
		["backup_failed", "backup_old", "backup_missing", "certificate_ending"].map((check) => [
			`ringback_warnings{${TARGET},check="${check}"}`,
			steady(0),
		]),
	),
	[`ringback_failing_programme_undelivered{${TARGET},programme="prg_1"}`]: steady(100),
	[`ringback_failing_partner_undelivered{${TARGET},partner="ptn_1"}`]: steady(100),
	[PG.up]: steady(1),
	[PG.inUse]: steady(80),
	[PG.limit]: steady(100),
	[PG.archiveFailures]: steady(3),
	[PG.replica]: steady(1_000),
	// A base backup that has ended must not count as a lost replica.
	'pg_stat_replication_pg_wal_lsn_diff{job="postgres",application_name="pg_basebackup"}': `1x10 stale`,
	[NODE.free]: steady(20),
	[NODE.size]: steady(100),
	[NODE.memoryFree]: steady(20),
	[NODE.memory]: steady(100),
	[NODE.clock]: steady(1),
};

const name = (metric: string, labels = ""): string =>
	`${metric}{${TARGET}${labels === "" ? "" : `,${labels}`}}`;

/** The series that differ from a healthy service when each alert fires. Null means that the series is missing. */
const TROUBLES: Readonly<Record<string, Readonly<Record<string, string | null>>>> = {
	RingbackDown: { [name("up")]: steady(0) },
	RingbackNoWorker: { [name("ringback_oldest_due_age_seconds")]: null },
	RingbackNoWeb: {
		[name("ringback_build_info", 'version="1.0.0",role="all"')]: null,
		'ringback_build_info{job="ringback",instance="a:9464",version="1.0.0",role="worker"}': steady(1),
	},
	RingbackNotReady: { [name("ringback_ready")]: steady(0) },
	// While callbacks are held, a notice that waits must not fire a second alert.
	RingbackDeliveryPaused: {
		[name("ringback_delivery_paused")]: steady(1),
		[name("ringback_unmailed_notices")]: steady(1),
	},
	RingbackCallbacksOverdue: { [name("ringback_oldest_due_age_seconds")]: steady(301) },
	RingbackCallbacksSlow: {
		[name("ringback_attempt_send_delay_seconds_bucket", 'le="0.5"')]: rising(500),
		[name("ringback_attempt_send_delay_seconds_bucket", 'le="10"')]: rising(560),
	},
	RingbackMostAttemptsFail: { [name("ringback_attempts_total", 'verdict="retry"')]: rising(700) },
	RingbackManyShopsFailing: { [name("ringback_failing_programmes")]: steady(11) },
	RingbackTakenOver: { [name("ringback_engines_taken_over_total")]: rising(1) },
	RingbackMissedCallbacks: { [name("ringback_missed_programmes_total")]: rising(1) },
	RingbackChoreLate: { [name("ringback_chore_late", 'chore="approvals"')]: steady(1) },
	RingbackShopFailing: {
		[name("ringback_failing_programme_undelivered", 'programme="prg_1"')]: steady(101),
	},
	RingbackPartnerFailing: {
		[name("ringback_failing_partner_undelivered", 'partner="ptn_1"')]: steady(101),
	},
	// The worker was restarted in between, and was not scraped for three minutes.
	RingbackMailStuck: { [name("ringback_unmailed_notices")]: "1x52 stale stale stale 1x25" },
	RingbackErrors: {
		[name("ringback_http_requests_total", 'method="POST",route="/v1/conversions",status="503"')]: rising(30),
	},
	RingbackIntakeSlow: {
		[name("ringback_http_request_duration_seconds_bucket", 'method="POST",route="/v1/conversions",le="1"')]:
			rising(900),
	},
	RingbackDatabaseBusy: { [name("ringback_database_waiting")]: steady(6) },
	RingbackDiskFilling: { [name("ringback_disk_free_bytes")]: steady(9) },
	RingbackBackupFailed: { [name("ringback_warnings", 'check="backup_failed"')]: steady(1) },
	RingbackBackupOld: { [name("ringback_warnings", 'check="backup_old"')]: steady(1) },
	RingbackCertificateEnding: { [name("ringback_warnings", 'check="certificate_ending"')]: steady(1) },
	RingbackBackupMissing: { [name("ringback_warnings", 'check="backup_missing"')]: steady(1) },
	RingbackLoopLate: { [name("ringback_event_loop_lag_seconds_bucket", 'le="0.5"')]: rising(590) },
	RingbackClockOff: { [name("ringback_clock_offset_seconds")]: steady(-5.1) },
	RingbackRestarting: { [name("process_start_time_seconds")]: rising(60) },
	RingbackMixedVersions: {
		'ringback_build_info{job="ringback",instance="b:9464",version="1.1.0",role="all"}': steady(1),
	},
	RingbackLogDropped: { [name("ringback_log_lines_dropped_total")]: rising(3) },
	RingbackPostgresDown: { [PG.up]: steady(0) },
	RingbackPostgresConnections: { [PG.inUse]: steady(81) },
	RingbackArchiveFailing: { [PG.archiveFailures]: rising(1) },
	RingbackReplicaMissing: { [PG.replica]: "1000x30 stale" },
	RingbackReplicaLate: { [PG.replica]: steady(1_100_000_000) },
	RingbackServerDiskFilling: { [NODE.free]: steady(9) },
	RingbackServerMemoryLow: { [NODE.memoryFree]: steady(4) },
	RingbackServerClock: { [NODE.clock]: steady(0) },
};

function firingTest(series: Readonly<Record<string, string | null>>, firing: readonly string[]): object {
	return {
		interval: "1m",
		input_series: Object.entries(series).flatMap(([one, values]) =>
			values === null ? [] : [{ series: one, values }],
		),
		promql_expr_test: [
			{
				expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
				eval_time: `${MINUTES - 5}m`,
				exp_samples: firing.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
			},
		],
	};
}

test("every alert has a case here, and its own part of the operations guide", () => {
	deepEqual(Object.keys(TROUBLES).toSorted(), ALERTS.toSorted());
	for (const alert of ALERTS) {
		match(
			RULES,
			new RegExp(
				`runbook_url: https://ringback\\.example/docs/operations/incidents#${alert.toLowerCase()}\n`,
			),
		);
		match(OPERATIONS, new RegExp(`^## ${alert}$`, "m"));
	}
	const parts = [...OPERATIONS.matchAll(/^## (Ringback\w+)$/gm)].map(([, part = ""]) => part);
	deepEqual(parts.toSorted(), ALERTS.toSorted());
});

test("promtool accepts the rules and the sample configuration", {
	skip: !IS_HERE && reportNotRun(PROMETHEUS_MISSING),
}, async () => {
	const rules = await runPromtool(["check", "rules", ...RULES_FILES]);
	const found = [...rules.output.matchAll(/SUCCESS: (\d+) rules found/g)];
	equal(
		found.reduce((sum, [, count]) => sum + Number(count), 0),
		ALERTS.length,
	);
	equal(rules.exitCode, 0);
	equal((await runPromtool(["check", "config", CONFIG_FILE])).exitCode, 0);
});

test("each alert fires on its own trouble only, and a healthy service fires none", {
	skip: !IS_HERE && reportNotRun(PROMETHEUS_MISSING),
}, async (t) => {
	const folder = mkdtempSync(join(tmpdir(), "ringback-rules-"));
	t.after(() => rmSync(folder, { recursive: true }));
	const tests = [
		firingTest(HEALTHY, []),
		...Object.entries(TROUBLES).map(([alert, change]) => firingTest({ ...HEALTHY, ...change }, [alert])),
	];
	const file = join(folder, "tests.yml");
	// promtool reads YAML, and JSON is valid YAML. With the interval of the sample configuration, a minute, it takes three
	// times as long.
	writeFileSync(file, JSON.stringify({ rule_files: RULES_FILES, evaluation_interval: "5m", tests }));
	const { output, exitCode } = await runPromtool(["test", "rules", file]);
	equal(exitCode, 0, output);
	// This case must fail. It shows that promtool really evaluates the tests above.
	writeFileSync(
		file,
		JSON.stringify({
			rule_files: RULES_FILES,
			evaluation_interval: "1m",
			tests: [firingTest(HEALTHY, ["RingbackDown"])],
		}),
	);
	const wrong = await runPromtool(["test", "rules", file]);
	ok(wrong.exitCode !== 0 && wrong.output.includes("FAILED"), wrong.output);
});
