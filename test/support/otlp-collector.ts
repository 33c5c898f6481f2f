// An OpenTelemetry collector as far as a test needs one: it takes spans by OTLP over HTTP with JSON, and keeps them.

import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { portOf } from "./port-of.ts";

export interface CollectedSpan {
	traceId: string;
	spanId: string;
	parentSpanId?: string;
	name: string;
	kind: number;
	startTimeUnixNano: string;
	endTimeUnixNano: string;
	attributes: readonly {
		key: string;
		value: { stringValue?: string; intValue?: string; doubleValue?: number };
	}[];
	status?: { code: number; message: string };
}

export interface OtlpCollector {
	url: string;
	readonly spans: readonly CollectedSpan[];
	/** What the senders said of themselves, each time. */
	readonly resources: readonly Readonly<Record<string, string | undefined>>[];
	readonly headers: readonly NodeJS.Dict<string | string[]>[];
	close(): Promise<void>;
}

interface Export {
	resourceSpans: readonly {
		resource: { attributes: CollectedSpan["attributes"] };
		scopeSpans: readonly { spans: readonly CollectedSpan[] }[];
	}[];
}

export async function startCollector(): Promise<OtlpCollector> {
	const spans: CollectedSpan[] = [];
	const resources: Record<string, string | undefined>[] = [];
	const headers: NodeJS.Dict<string | string[]>[] = [];
	const server = createServer(async (incoming, outgoing) => {
		const { resourceSpans } = JSON.parse(await text(incoming)) as Export;
		headers.push(incoming.headers);
		for (const { resource, scopeSpans } of resourceSpans) {
			resources.push(
				Object.fromEntries(resource.attributes.map(({ key, value }) => [key, value.stringValue])),
			);
			spans.push(...scopeSpans.flatMap((scope) => scope.spans));
		}
		const isRight = incoming.method === "POST" && incoming.url === "/v1/traces";
		outgoing.writeHead(isRight ? 200 : 404, { "content-type": "application/json" }).end("{}");
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	// Suites run beside it; it must not keep the process.
	server.unref();
	return {
		url: `http://127.0.0.1:${portOf(server)}`,
		spans,
		resources,
		headers,
		close: () =>
			new Promise((resolve) => {
				server.closeAllConnections();
				server.close(() => resolve());
			}),
	};
}
