// Answers with a CSV file that is written while it is sent, and no faster than the client reads it.

import type { Admission } from "../../concurrency/admission.ts";
import type { CsvSeparator } from "../../conversions/csv-file.ts";
import { MINUTE_MS } from "../../domain/time.ts";
import type { Clock } from "../../ports.ts";
import { answerError } from "../error-page.ts";
import { hasDecimalComma } from "../numbers.ts";
import { viewerOf, type WebContext } from "../page.ts";

/** Time after which a client that reads nothing is cut off, because it occupies a place that others need. */
const MAX_STALL_MS = 2 * MINUTE_MS;

type StreamClock = Pick<Clock, "after">;

export async function answerCsv(
	c: WebContext,
	{ clock, admission }: { clock: StreamClock; admission: Admission },
	fileName: string,
	lines: AsyncGenerator<string>,
): Promise<Response> {
	const headers = {
		"content-type": "text/csv; charset=utf-8",
		"content-disposition": `attachment; filename="${fileName}"`,
	};
	// Hono answers HEAD like GET and drops the body. An export without a reader would occupy its place for ever.
	if (c.req.method !== "GET") return c.body(null, 200, headers);
	const leave = await admission.admit("exports", viewerOf(c).personId);
	if (leave === undefined) return answerError(c, "too_many_exports");
	c.env?.outgoing?.emit("takesLong");
	return c.body(streamText(lines, clock, leave), 200, headers);
}

/** Returns the separator for the account's language. Spreadsheets expect a semicolon if decimals have a comma. */
export function separatorFor(): CsvSeparator {
	return hasDecimalComma() ? ";" : ",";
}

/** Sends the parts as a stream. A part is made only when the client has taken the one before. */
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
			// An error instead of a normal end, so that a part of a file does not look like the whole file.
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
		// Without a buffer, nothing is made before the client asks for it.
		{ highWaterMark: 0 },
	);
}
