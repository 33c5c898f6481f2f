// Streams a file as a response. The file is generated only as fast as the client reads it.

import type { Admission } from "../../../concurrency/admission.ts";
import type { CsvForm } from "../../conversions/csv-file.ts";
import { MINUTE_MS } from "../../domain/time.ts";
import type { Clock } from "../../ports.ts";
import { answerError } from "../error-page.ts";
import { hasDecimalComma } from "../numbers.ts";
import { viewerOf, type WebContext } from "../page.ts";

/**
 * Time after which a client that reads nothing is disconnected, because the number of concurrent downloads is
 * limited.
 */
const MAX_STALL_MS = 2 * MINUTE_MS;

type StreamClock = Pick<Clock, "after">;

interface StreamDeps {
	clock: StreamClock;
	admission: Admission;
}

export function answerCsv(
	c: WebContext,
	deps: StreamDeps,
	fileName: string,
	lines: AsyncGenerator<string>,
): Promise<Response> {
	return answerFile(c, deps, { fileName, type: "text/csv; charset=utf-8", parts: lines });
}

export async function answerFile(
	c: WebContext,
	{ clock, admission }: StreamDeps,
	{ fileName, type, parts }: { fileName: string; type: string; parts: AsyncGenerator<string> },
): Promise<Response> {
	const headers = {
		"content-type": type,
		"content-disposition": `attachment; filename="${fileName}"`,
	};
	// Hono answers a HEAD request like a GET request and drops the body. The export would then never give its slot back,
	// because nobody reads it.
	if (c.req.method === "HEAD") return c.body(null, 200, headers);
	const leave = await admission.admit("exports", viewerOf(c).personId);
	if (leave === undefined) return answerError(c, "too_many_exports");
	c.env?.outgoing?.emit("takesLong");
	return c.body(streamText(parts, clock, leave), 200, headers);
}

/**
 * Returns the format of a CSV file for the reader's language, with times in the network's zone. Spreadsheets expect
 * semicolons as separators if decimals have a comma.
 */
export function csvFormFor(c: WebContext): CsvForm {
	return { separator: hasDecimalComma() ? ";" : ",", zone: c.get("network").timeZone };
}

/** Sends the parts as a stream. Each part is generated only after the client has read the previous one. */
export function streamText(
	parts: AsyncGenerator<string>,
	clock: StreamClock,
	onEnd: () => void = () => undefined,
): ReadableStream<Uint8Array> {
	const encoder = new TextEncoder();
	let cancelWait: () => void = () => undefined;
	const end = async () => {
		cancelWait();
		onEnd();
		await parts.return(undefined);
	};
	const waitForReader = (controller: ReadableStreamDefaultController) => {
		cancelWait = clock.after(MAX_STALL_MS, () => {
			// The stream ends with an error, so that an incomplete file does not look complete.
			controller.error(new Error("the client has stopped reading the file"));
			void end();
		});
	};
	return new ReadableStream<Uint8Array>(
		{
			start: waitForReader,
			async pull(controller) {
				cancelWait();
				try {
					const { value, done } = await parts.next();
					if (done === true) {
						controller.close();
						await end();
					} else {
						controller.enqueue(encoder.encode(value));
						waitForReader(controller);
					}
				} catch (error) {
					await end();
					throw error;
				}
			},
			cancel: end,
		},
		// With a buffer size of 0, a part is generated only when the client asks for it.
		{ highWaterMark: 0 },
	);
}
