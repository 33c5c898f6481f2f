// A CSV file as an answer: sent as it is made, and made no faster than it is taken.

import type { WebContext } from "../env.ts";

/** `takeTurn` lets everybody else get on between two pieces: the rows come without ever waiting. */
export function answerCsv(
	c: WebContext,
	fileName: string,
	lines: AsyncGenerator<string>,
	takeTurn: () => Promise<void>,
): Response {
	return c.body(streamText(lines, takeTurn), 200, {
		"content-type": "text/csv; charset=utf-8",
		"content-disposition": `attachment; filename="${fileName}"`,
	});
}

export function streamText(
	parts: AsyncGenerator<string>,
	takeTurn: () => Promise<void>,
): ReadableStream<Uint8Array> {
	const encoder = new TextEncoder();
	return new ReadableStream<Uint8Array>(
		{
			async pull(controller) {
				await takeTurn();
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
