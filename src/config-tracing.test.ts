import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { type Environment, SettingReader } from "./config-reader.ts";
import { readTracing } from "./config-tracing.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/" };
const PLAIN = {
	endpoint: "http://collector:4318/v1/traces",
	headers: {},
	resource: { "service.name": "ringback" },
	sampling: { sampler: "parentbased_always_on", ratio: 1 },
};

describe("traces are off", () => {
	const cases: readonly [title: string, environment: Environment][] = [
		["unless a collector is named", { OTEL_SERVICE_NAME: "x", OTEL_TRACES_SAMPLER: "always_on" }],
		["by OTEL_SDK_DISABLED", { ...ENDPOINT, OTEL_SDK_DISABLED: "TRUE" }],
		["by OTEL_TRACES_EXPORTER", { ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" }],
	];
	for (const [title, environment] of cases) {
		test(title, () => equal(readTracing(new SettingReader(environment)), null));
	}
});

describe("a good setting is taken as it is meant", () => {
	const cases: readonly [title: string, environment: Environment, change: object][] = [
		["an endpoint", {}, {}],
		["not disabled", { OTEL_SDK_DISABLED: "false" }, {}],
		[
			"an endpoint for traces",
			{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://x/in" },
			{ endpoint: "https://x/in" },
		],
		[
			"headers",
			{ OTEL_EXPORTER_OTLP_HEADERS: "a=1, b=two%20words", OTEL_EXPORTER_OTLP_TRACES_HEADERS: "a=2" },
			{ headers: { a: "2", b: "two words" } },
		],
		[
			"a name and more",
			{
				OTEL_SERVICE_NAME: "net",
				OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=prod,service.name=other",
			},
			{ resource: { "service.name": "net", "deployment.environment": "prod" } },
		],
		[
			"a sampler",
			{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.05" },
			{ sampling: { sampler: "traceidratio", ratio: 0.05 } },
		],
		["the protocol that we speak", { OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" }, {}],
	];
	for (const [title, environment, change] of cases) {
		test(title, () => {
			const reader = new SettingReader({ ...ENDPOINT, ...environment });
			deepEqual(readTracing(reader), { ...PLAIN, ...change });
			deepEqual(reader.problems, []);
		});
	}
});

describe("a wrong setting is told", () => {
	const cases: readonly [name: string, value: string][] = [
		["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"],
		["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "somewhere"],
		["OTEL_TRACES_EXPORTER", "zipkin"],
		["OTEL_TRACES_SAMPLER", "sometimes"],
		["OTEL_TRACES_SAMPLER_ARG", "5"],
		["OTEL_EXPORTER_OTLP_HEADERS", "no pair"],
		["OTEL_RESOURCE_ATTRIBUTES", "a=%zz"],
		["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"],
		["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"],
		["OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:s3cret@collector:4318"],
		["OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20s3cret%0A"],
		["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a(b)=s3cret"],
	];
	for (const [name, value] of cases) {
		test(`${name}=${value}`, () => {
			const reader = new SettingReader({ ...ENDPOINT, [name]: value });
			readTracing(reader);
			equal(reader.problems.length, 1);
			ok(reader.problems[0]?.startsWith(`${name} must `), reader.problems.join());
			ok(!reader.problems[0]?.includes("s3cret"), "a secret is not repeated");
		});
	}
});
