// A CSV file as an answer: sent as it is made, and made no faster than it is taken.

import type { WebContext } from "../env.ts";

export function answerCsv(c: WebContext, fileName: string, lines: AsyncGenerator<string>): Response {
	return c.body(streamText(lines), 200, {
		"content-type": "text/csv; charset=utf-8",
		"content-disposition": `attachment; filename="${fileName}"`,
	});
}

export function streamText(parts: AsyncGenerator<string>): ReadableStream<Uint8Array> {
	const encoder = new TextEncoder();
	return new ReadableStream<Uint8Array>(
		{
			async pull(controller) {
				const { value, done } = await parts.next();
				if (done === true) controller.close();
				else controller.enqueue(encoder.encode(value));
			},
			async cancel() {
				await parts.return(undefined);
			},
		},
		// Nothing ahead of what was asked for.
		{ highWaterMark: 0 },
	);
}
