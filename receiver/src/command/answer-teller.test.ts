import { deepEqual } from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type TestContext, test } from "node:test";
import { type AnswerTeller, createAnswerTeller, type ToldAnswer } from "./answer-teller.ts";

test("a service that stores nothing is left alone for a minute, one that stores some for a second", async (t) => {
	const told: string[][] = [];
	const kept = [1, 0, 2];
	const { teller, untilPause, paused } = await open(t, (answers) => {
		told.push(answers);
		return { kept: kept[told.length - 1] };
	});
	teller.tell(answerOf("cnv_1"));
	const first = await untilPause();
	teller.tell(answerOf("cnv_2"));
	first.end();
	const second = await untilPause();
	for (const id of ["cnv_3", "cnv_4"]) teller.tell(answerOf(id));
	second.end();
	await untilPause();
	deepEqual(paused, [1_000, 60_000, 1_000]);
	deepEqual(told, [["cnv_1"], ["cnv_2"], ["cnv_3", "cnv_4"]]);
	await teller.finish();
});

test("after a pause all waiting reports go in one call, and the oldest of very many are dropped", async (t) => {
	const told: string[][] = [];
	const { teller, untilPause } = await open(t, (answers) => {
		told.push(answers);
		return { kept: 0 };
	});
	teller.tell(answerOf("cnv_first"));
	const first = await untilPause();
	const ids = Array.from({ length: 201 }, (_, at) => `cnv_${at}`);
	for (const id of ids) teller.tell(answerOf(id));
	first.end();
	await untilPause();
	deepEqual(told, [["cnv_first"], ids.slice(1)]);
	await teller.finish();
});

test("an answer without a count does not lengthen the pause, and stopping does not wait for it", async (t) => {
	const told: string[][] = [];
	const { teller, untilPause, paused } = await open(t, (answers) => {
		told.push(answers);
		return told.length === 1 ? "<html>" : { kept: 0 };
	});
	teller.tell(answerOf("cnv_1"));
	await untilPause();
	teller.tell(answerOf("cnv_2"));
	await teller.finish();
	deepEqual(paused, [1_000, 1_500, 60_000], "the patience of a stop, and no pause that it waits for");
	deepEqual(told, [["cnv_1"], ["cnv_2"]]);
});

interface Pause {
	end(): void;
}

async function open(
	t: TestContext,
	answer: (conversionIds: string[]) => unknown,
): Promise<{ teller: AnswerTeller; untilPause(): Promise<Pause>; paused: readonly number[] }> {
	const server = createServer(async (request, response) => {
		const { answers } = JSON.parse(Buffer.concat(await request.toArray()).toString());
		response.end(JSON.stringify(answer(answers.map(({ conversionId }: ToldAnswer) => conversionId))));
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	t.after(() => void server.close().closeAllConnections());
	const address = server.address();
	const port = typeof address === "object" ? address?.port : undefined;
	const paused: number[] = [];
	let next = Promise.withResolvers<Pause>();
	const pause = (pauseMs: number, signal: AbortSignal | undefined) =>
		new Promise<void>((resolve) => {
			paused.push(pauseMs);
			signal?.addEventListener("abort", () => resolve());
			if (signal?.aborted) resolve();
			next.resolve({ end: resolve });
		});
	const settings = {
		url: `http://127.0.0.1:${port}`,
		apiKey: "rbk_1",
		secret: ["rbs_1"],
		brand: "Service",
	} as const;
	return {
		teller: createAnswerTeller(settings, pause),
		paused,
		async untilPause() {
			const begun = await next.promise;
			next = Promise.withResolvers();
			return begun;
		},
	};
}

function answerOf(conversionId: string): ToldAnswer {
	return { conversionId, event: "conversion.recorded", outcome: "verified" };
}
