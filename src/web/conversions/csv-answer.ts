// A CSV file as an answer: sent as it is made, and made no faster than it is taken.

import type { Admission } from "../../concurrency/admission.ts";
import type { CsvSeparator } from "../../conversions/csv-file.ts";
import { MINUTE_MS } from "../../domain/time.ts";
import type { Clock } from "../../ports.ts";
import { answerError } from "../error-page.ts";
import { hasDecimalComma } from "../numbers.ts";
import { viewerOf, type WebContext } from "../page.ts";

/** Time after which a reader that takes nothing is disconnected, because it holds a place that others could use. */
const MAX_STALL_MS = 2 * MINUTE_MS;

type StreamClock = Pick<Clock, "yieldLoop" | "after">;

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
	// Hono answers HEAD as GET and drops the body: a file that nobody reads would keep its place.
	if (c.req.method !== "GET") return c.body(null, 200, headers);
	const leave = await admission.admit("exports", viewerOf(c).personId);
	if (leave === undefined) return answerError(c, "too_many_exports");
	c.env?.outgoing?.emit("takesLong");
	return c.body(streamText(lines, clock, leave), 200, headers);
}

/** In the account's language: spreadsheets expect semicolons where decimals have a comma. */
export function separatorFor(): CsvSeparator {
	return hasDecimalComma() ? ";" : ",";
}

/** Between two pieces everybody else is served: reading rows never waits, and would keep them out. */
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
			// Not closed: what was cut off must not look like a whole file.
			controller.error(new Error("the reader of a file has stopped reading"));
			void end();
		});
	};
	return new ReadableStream<Uint8Array>(
		{
			start: waitForReader,
			async pull(controller) {
				cancelWait();
				try {
					await clock.yieldLoop();
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
		// Nothing ahead of what was asked for.
		{ highWaterMark: 0 },
	);
}
