// Sends due callbacks without starting the engine. The engine's own code prepares the requests and records a
// result that the test chooses.

import { addEngine, passInput, takeDue } from "../../../test/support/queue-rows.ts";
import { createPreparer, settleAnswer } from "../../callbacks/attempt.ts";
import { createPass } from "../../callbacks/pass.ts";
import type { AnswerExcerpt } from "../../domain/answer-excerpt.ts";
import { parsePostbackUrl } from "../../domain/postback-url.ts";
import { openSecret } from "../../domain/sealing.ts";
import { signingKey, wireNames } from "../../domain/signature.ts";
import type { Outcome } from "../../domain/verdict.ts";
import type { PostbackRequest } from "../../ports.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import type { TestSite } from "../test-site.test-support.ts";

/** Sends all due callbacks of a programme, records `outcome` for each of them, and returns the requests. */
export async function runCallbacks(
	{ deps }: TestSite,
	programme: Programme,
	outcome: Outcome,
	excerpt: AnswerExcerpt | null = null,
): Promise<PostbackRequest[]> {
	const { store, random, clock, network, sealingKey } = deps;
	const pass = createPass(store, random);
	const nowMs = clock.nowMs();
	const due = await takeDue(store, programme.receiver_id, 100, nowMs);
	const [target] = await store.queue.readTargets(store.db, [programme.receiver_id]);
	const url = parsePostbackUrl(target?.url ?? "");
	if (target?.sealedSecret == null || target.endpointId === null || !url.ok) return [];
	const secret = openSecret(sealingKey, programme.receiver_id, target.sealedSecret) ?? "";
	const lane = {
		url: url.value.href,
		pathAndQuery: url.value.target,
		endpointId: target.endpointId,
		secretId: target.secretId ?? 0,
		key: signingKey(secret),
	};
	const prepare = createPreparer(random);
	const names = wireNames(network.face.brand);
	const timings = { lookUpMs: 1.5, connectMs: 12, tlsMs: 20, answerMs: 31 };
	const sent = due.map((delivery) => ({ delivery, prepared: prepare(names, delivery, lane, nowMs) }));
	const settlements = sent.flatMap(
		({ delivery, prepared }) =>
			settleAnswer(delivery, prepared, { outcome, timings }, excerpt, nowMs + 65) ?? [],
	);
	const engineId = await addEngine(store, nowMs);
	await pass.run(passInput(engineId, nowMs + 65, { settlements }));
	return sent.map(({ prepared }) => prepared.request);
}
