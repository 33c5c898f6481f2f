// Tests the metrics of a running service: every series, on both databases, and the tables of them in the
// docs.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FIGURES_INTERVAL_MS } from "../../src/service/upkeep.ts";
import { reportNotRun } from "../support/not-run.ts";
import { findPrometheus, PROMETHEUS_MISSING, startPrometheus } from "../support/prometheus.ts";
import { eachService, type RunningService } from "../support/running-service.ts";
import { until } from "../support/until.ts";

const OPERATIONS = readFileSync(new URL("../../docs/operations/metrics.md", import.meta.url), "utf8");
const SETTINGS = { RINGBACK_METRICS_ADDRESS: "127.0.0.1:0" };
/**
 * Number of orders whose callbacks fail. It is one more than the number of failures in a row that counts as
 * serious trouble.
 */
const FAILING_ORDERS = 6;

const DASHBOARD: unknown = JSON.parse(
	readFileSync(new URL("../../ops/grafana/ringback.json", import.meta.url), "utf8"),
);
const RULES = readFileSync(new URL("../../ops/prometheus/ringback.rules.yml", import.meta.url), "utf8");

/** Returns the queries of the panels. Queries of annotations are left out, because they have no data while nothing happens. */
function dashboardQueries(): string[] {
	const { panels } = DASHBOARD as { panels: readonly { targets?: readonly { expr: string }[] }[] };
	return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

function isOfSqlite({ service }: RunningService): boolean {
	return service.config.database.kind === "sqlite";
}

async function scrape({ service }: RunningService): Promise<Scrape> {
	return readMetricsText(await (await fetch(`${service.metricsUrl}/metrics`)).text());
}

eachService(
	"the metrics of a service",
	(running) => {
		test("a delivered callback counts in the histograms of first answers, send delays and durations", async () => {
			const before = await scrape(running);
			const programme = await running.openProgramme();
			programme.answer = () => ({ status: 204 });
			await programme.record("A-1");
			await programme.settled();
			const after = await scrape(running);
			for (const name of [
				"ringback_delivery_first_answer_seconds_count",
				"ringback_attempt_send_delay_seconds_count",
				"ringback_attempt_duration_seconds_count",
				'ringback_deliveries_finished_total{state="delivered"}',
			]) {
				equal(after.value(name) - before.value(name), 1, name);
			}
			ok(
				after.value("ringback_pass_duration_seconds_count") >
					before.value("ringback_pass_duration_seconds_count"),
			);
		});

		test("the send delay of a retry counts from its due time, and a retry is not a first answer", async () => {
			const programme = await running.openProgramme();
			programme.answer = () => ({ status: 503 });
			await programme.record("A-1");
			await programme.settled();
			const before = await scrape(running);
			programme.answer = () => ({ status: 204 });
			await running.clock.moveBy(60_000);
			await programme.settled();
			const after = await scrape(running);
			const grown = (name: string) => after.value(name) - before.value(name);
			equal(grown("ringback_attempt_duration_seconds_count"), 1);
			equal(grown("ringback_delivery_first_answer_seconds_count"), 0);
			ok(grown("ringback_attempt_send_delay_seconds_sum") < 1, "not the minute before it was due");
		});

		test("requests are counted by route, never by path", async () => {
			const programme = await running.openProgramme();
			await programme.record("A-1");
			const { url } = running.service;
			for (const path of [
				"/welcome/a-secret-token",
				"/nowhere/a-secret-path",
				"/healthz",
				"/problems/internal",
			]) {
				await (await fetch(url + path)).arrayBuffer();
			}
			await (
				await fetch(`${url}/pixel/${programme.programId}.gif?orderId=secret-order&basketValue=1`)
			).arrayBuffer();
			const counted = async (labels: string) =>
				(await scrape(running)).find(`ringback_http_requests_total{${labels}}`) ?? 0;
			for (const labels of [
				'method="POST",route="/v1/conversions",status="201"',
				'method="GET",route="/welcome/:token",status="410"',
				'method="GET",route="other",status="404"',
				'method="GET",route="/healthz",status="200"',
				'method="GET",route="/problems/:code",status="200"',
				'method="GET",route="/pixel/:programme.gif",status="200"',
			]) {
				await until(
					async () => (await counted(labels)) > 0,
					() => labels,
				);
			}
			const { text, value } = await scrape(running);
			ok(!/secret-|A-1/.test(text), "no path, no query");
			ok(value('ringback_http_request_duration_seconds_count{method="GET",route="/healthz"}') > 0);
		});

		test("once a minute the queue, the database's size and failing programmes by public id are read", async () => {
			const programme = await running.openProgramme();
			programme.answer = () => ({ status: 503 });
			for (let order = 0; order < FAILING_ORDERS; order++) await programme.record(`F-${order}`);
			await programme.settled();
			await running.clock.moveBy(FIGURES_INTERVAL_MS);
			const labels = `{programme="${programme.programId}"}`;
			await running.until("the figures are read", async () =>
				Boolean((await scrape(running)).find(`ringback_failing_programme_undelivered${labels}`)),
			);
			const { value } = await scrape(running);
			equal(value(`ringback_failing_programme_undelivered${labels}`), FAILING_ORDERS);
			equal(value("ringback_failing_programmes"), 1);
			equal(value("ringback_queue_depth"), FAILING_ORDERS);
			ok(value("ringback_database_size_bytes") > 100_000);
			ok(value("ringback_database_connections_limit") >= 1);
			equal(value("ringback_unmailed_notices"), 1, "it is counted although there is no mail server");
			match(
				(await scrape(running)).text,
				/^ringback_build_info\{version="\d[^"]*",runtime="v\d+[^"]*",role="all",process="[\da-f]{8}"\} 1$/m,
			);
		});

		test("every query of the dashboard returns data in a Prometheus that scrapes the service", {
			skip: findPrometheus() === undefined && reportNotRun(PROMETHEUS_MISSING),
		}, async (t) => {
			const programme = await running.openProgramme();
			programme.answer = ({ body }) => ({ status: body.includes('"F-') ? 503 : 204 });
			await programme.record("A-1");
			for (let order = 0; order < FAILING_ORDERS; order++) await programme.record(`F-${order}`);
			await programme.settled();
			await running.clock.moveBy(FIGURES_INTERVAL_MS);
			const prometheus = await startPrometheus(running.service.metricsUrl ?? "");
			t.after(() => prometheus.stop());
			const left = new Set(dashboardQueries());
			ok(left.size > 40, `${left.size} queries`);
			await until(
				async () => {
					for (const query of left) {
						const { count, error } = await prometheus.query(query.replaceAll("$__rate_interval", "1m"));
						equal(error, null, query);
						if (count > 0) left.delete(query);
					}
					return [...left].every((query) => !isOfSqlite(running) && query.includes("ringback_disk_"));
				},
				() => `no data for ${[...left].join("\n")}`,
			);
		});

		test("the service exports every series that the alert rules use", async () => {
			const { families } = await scrape(running);
			const named = new Set(RULES.match(/\b(?:ringback|process|nodejs)_\w+/g));
			ok(named.size > 15);
			for (const name of named) ok(families.has(name.replace(/_(?:bucket|sum|count)$/, "")), name);
		});

		test("the tables of the docs list exactly the series that the service exports", async () => {
			const { families } = await scrape(running);
			const rows = OPERATIONS.match(/^\| `(?:ringback|process|nodejs)_[^|]*/gm) ?? [];
			const listed = rows.flatMap((row) => row.match(/\w+_\w+/g) ?? []);
			deepEqual(listed.toSorted(), [...families].toSorted());
		});
	},
	SETTINGS,
);

/** Parsed answer of /metrics. */
interface Scrape {
	text: string;
	/** Names of the series. */
	families: ReadonlySet<string>;
	/** Returns the value of a sample, given its name and labels as they are written. */
	find(sample: string): number | undefined;
	value(sample: string): number;
}

function readMetricsText(text: string): Scrape {
	const lines = text.split("\n");
	const names = lines.flatMap((line) => /^# TYPE (\w+) /.exec(line)?.[1] ?? []);
	const find = (sample: string): number | undefined => {
		const line = lines.find((one) => one.startsWith(`${sample} `));
		return line === undefined ? undefined : Number(line.slice(sample.length + 1));
	};
	return {
		text,
		families: new Set(names),
		find,
		value(sample) {
			const found = find(sample);
			if (found === undefined) throw new Error(`/metrics does not say ${sample}`);
			return found;
		},
	};
}
