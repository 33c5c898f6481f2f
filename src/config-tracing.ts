// The settings about traces, by the names that OpenTelemetry gives them. Off unless a collector is named.

import type { SettingReader } from "./config-reader.ts";
import { SAMPLERS, type TracingSetting } from "./domain/trace.ts";

const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const DEFAULT_SERVICE_NAME = "ringback";

/** Null: nothing is traced. */
export function readTracing(reader: SettingReader): TracingSetting | null {
	const endpoint = readEndpoint(reader);
	const exporter = reader.choice("OTEL_TRACES_EXPORTER", ["otlp", "none"], "otlp");
	const isDisabled = reader.text("OTEL_SDK_DISABLED")?.toLowerCase() === "true";
	if (endpoint === null || exporter === "none" || isDisabled) return null;
	const ownProtocol = reader.text("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL");
	if ((ownProtocol ?? reader.text("OTEL_EXPORTER_OTLP_PROTOCOL")) === "grpc") {
		reader.problem(
			ownProtocol === undefined ? "OTEL_EXPORTER_OTLP_PROTOCOL" : "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
			"must be http/json or left out: traces are sent over HTTP, which collectors take at port 4318.",
		);
	}
	return {
		endpoint,
		headers: {
			...readHeaders(reader, "OTEL_EXPORTER_OTLP_HEADERS"),
			...readHeaders(reader, "OTEL_EXPORTER_OTLP_TRACES_HEADERS"),
		},
		resource: {
			...readPairs(reader, "OTEL_RESOURCE_ATTRIBUTES"),
			"service.name": reader.text("OTEL_SERVICE_NAME") ?? DEFAULT_SERVICE_NAME,
		},
		sampling: {
			sampler: reader.choice("OTEL_TRACES_SAMPLER", SAMPLERS, "parentbased_always_on"),
			ratio: readRatio(reader),
		},
	};
}

/** The general one is where all signals go, each below its own path; the one for traces is taken as it is. */
function readEndpoint(reader: SettingReader): string | null {
	const own = reader.text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
	const general = reader.text("OTEL_EXPORTER_OTLP_ENDPOINT");
	const text = own ?? general;
	if (text === undefined) return null;
	const name = own === undefined ? "OTEL_EXPORTER_OTLP_ENDPOINT" : "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
	if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
		reader.problem(name, `must be a collector's address, such as http://127.0.0.1:4318, not "${text}".`);
		return null;
	}
	const { username, password } = new URL(text);
	if (username !== "" || password !== "") {
		reader.problem(name, "must have no user and password in it: set OTEL_EXPORTER_OTLP_HEADERS instead.");
		return null;
	}
	return own ?? `${text.replace(/\/+$/, "")}/v1/traces`;
}

/** `name=value,name=value`, each percent-encoded as in a URL. */
function readPairs(reader: SettingReader, name: string): Record<string, string> {
	const pairs = (reader.text(name) ?? "").split(",").filter((pair) => pair.trim() !== "");
	return Object.fromEntries(
		pairs.flatMap((pair): [string, string][] => {
			const [, key, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
			const decoded = value === undefined ? null : decode(value);
			if (key !== undefined && decoded !== null) return [[key, decoded]];
			reader.problem(name, "must be pairs such as name=value,name=value, percent-encoded.");
			return [];
		}),
	);
}

function readHeaders(reader: SettingReader, name: string): Record<string, string> {
	const headers = readPairs(reader, name);
	const isSound = Object.entries(headers).every(
		([key, value]) => HEADER_NAME.test(key) && HEADER_VALUE.test(value),
	);
	if (isSound) return headers;
	reader.problem(name, "must have names and values that HTTP headers can have.");
	return {};
}

function decode(text: string): string | null {
	try {
		return decodeURIComponent(text);
	} catch {
		return null;
	}
}

function readRatio(reader: SettingReader): number {
	const text = reader.text("OTEL_TRACES_SAMPLER_ARG");
	if (text === undefined) return 1;
	const ratio = /^(?:0|1|[01]?\.\d+|1\.0+)$/.test(text) ? Number(text) : Number.NaN;
	if (ratio >= 0 && ratio <= 1) return ratio;
	reader.problem("OTEL_TRACES_SAMPLER_ARG", `must be a number from 0 to 1, not "${text}".`);
	return 1;
}
