// One conversion, one trace: the request, the transaction that stores it, the pass that hands its callback out, and the
// attempt, as a collector receives them.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { type CollectedSpan, startCollector } from "../support/otlp-collector.ts";
import { eachService } from "../support/running-service.ts";
import { until } from "../support/until.ts";

const collector = await startCollector();
const SETTINGS = {
	OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
	OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=the%20network",
	OTEL_SERVICE_NAME: "our-network",
	OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=test",
};
const SPAN_ID = "b7ad6b7169203331";

let traces = 0;
function newTraceId(): string {
	traces++;
	return `0af7651916cd43dd8448eb21${String(traces).padStart(8, "0")}`;
}

const spansOf = (traceId: string) => collector.spans.filter((span) => span.traceId === traceId);
const attribute = (span: CollectedSpan | undefined, key: string) => {
	const value = span?.attributes.find((one) => one.key === key)?.value;
	return value?.stringValue ?? value?.intValue ?? value?.doubleValue;
};

eachService(
	"traces",
	(running) => {
		test("a caller's trace goes on through request, transaction, hand-out and attempt, and ends at the shop's door", async () => {
			const programme = await running.openProgramme();
			const traceId = newTraceId();
			const answer = await programme.call("POST", "/v1/conversions", {
				body: { orderId: "A-1", basketValue: "1.00" },
				headers: { traceparent: `00-${traceId}-${SPAN_ID}-01` },
			});
			equal(answer.status, 201);
			await programme.settled();
			await until(
				() => spansOf(traceId).length >= 4,
				() => JSON.stringify(spansOf(traceId)),
			);
			const chain: CollectedSpan[] = [];
			for (let parent = SPAN_ID; ; ) {
				const below = spansOf(traceId).filter(({ parentSpanId }) => parentSpanId === parent);
				if (below.length === 0) break;
				equal(below.length, 1);
				chain.push(...below);
				parent = below[0]?.spanId ?? "";
			}
			deepEqual(
				chain.map(({ name, kind }) => [name, kind]),
				[
					["POST /v1/conversions", 2],
					["store calls", 1],
					["hand out", 1],
					["attempt", 3],
				],
			);
			equal(spansOf(traceId).length, 4);
			const [request, , , attempt] = chain;
			equal(attribute(request, "http.response.status_code"), "201");
			equal(attribute(request, "ringback.programme"), programme.programId);
			equal(attribute(attempt, "http.response.status_code"), "204");
			equal(attribute(attempt, "ringback.event"), "conversion.recorded");
			for (const { startTimeUnixNano, endTimeUnixNano, status } of chain) {
				ok(BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano));
				equal(status, undefined);
			}
			const resource = collector.resources.at(-1);
			equal(resource?.["service.name"], "our-network");
			equal(resource?.["deployment.environment"], "test");
			match(resource?.["service.instance.id"] ?? "", /^[\da-f]{8}$/);
			equal(collector.headers.at(-1)?.["x-tenant"], "the network");
			const sent = JSON.stringify(collector.spans);
			ok(!sent.includes("/postback") && !sent.includes(programme.key), "no path of the shop's, no key");
			// What the contract lists and nothing else is on the request, which checkForm sees to; this names it.
			ok(!programme.received.some(({ headers }) => headers.has("traceparent")));
		});

		test("a retry belongs to the same trace, and a failed attempt says so", async () => {
			const programme = await running.openProgramme();
			programme.answer = () => ({ status: 503 });
			const traceId = newTraceId();
			await programme.call("POST", "/v1/conversions", {
				body: { orderId: "A-1", basketValue: "1.00" },
				headers: { traceparent: `00-${traceId}-${SPAN_ID}-01` },
			});
			await programme.settled();
			programme.answer = () => ({ status: 204 });
			await running.clock.moveBy(60_000);
			await programme.settled();
			const attempts = () => spansOf(traceId).filter(({ name }) => name === "attempt");
			await until(() => attempts().length === 2);
			deepEqual(
				attempts().map(({ status }) => status),
				[{ code: 2, message: "HTTP 503" }, undefined],
			);
		});

		test("a caller that does not want its trace taken is left alone", async () => {
			const programme = await running.openProgramme();
			const [unwanted, wanted] = [newTraceId(), newTraceId()];
			for (const [traceId, flags] of [
				[unwanted, "00"],
				[wanted, "01"],
			] as const) {
				await programme.call("POST", "/v1/conversions", {
					body: { orderId: `A-${flags}`, basketValue: "1.00" },
					headers: { traceparent: `00-${traceId}-${SPAN_ID}-${flags}` },
				});
			}
			await programme.settled();
			await until(() => spansOf(wanted).length === 4);
			equal(spansOf(unwanted).length, 0);
		});
	},
	SETTINGS,
);
