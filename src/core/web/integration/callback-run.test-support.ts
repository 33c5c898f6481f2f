// Sends due callbacks without starting the engine. The engine's own code prepares the requests and records a
// result that the test chooses.

import { addEngine, passInput, takeDue } from "../../../../test/support/queue-rows.ts";
import { createPreparer, settleAnswer } from "../../callbacks/attempt.ts";
import { createPass } from "../../callbacks/pass.ts";
import type { AnswerExcerpt } from "../../domain/answer-excerpt.ts";
import { parsePostbackUrl } from "../../domain/postback-url.ts";
import { openSecret } from "../../domain/sealing.ts";
import { signingKey, wireNames } from "../../domain/signature.ts";
import type { Outcome } from "../../domain/verdict.ts";
import type { PostbackRequest } from "../../ports.ts";
import type { ReceiverColumns } from "../../store/queries/receivers.ts";
import type { TestSite } from "../test-site.test-support.ts";

/** Sends all due callbacks of a receiver, records `outcome` for each of them, and returns the requests. */
export async function runCallbacks(
	{ deps }: TestSite,
	receiver: Pick<ReceiverColumns, "receiver_id">,
	outcome: Outcome,
	excerpt: AnswerExcerpt | null = null,
): Promise<PostbackRequest[]> {
	const { store, random, clock, network, keyRing } = deps;
	const pass = createPass(store, random);
	const nowMs = clock.nowMs();
	const { receiver_id: receiverId } = receiver;
	const due = await takeDue(store, receiverId, 100, nowMs);
	const [target] = await store.queue.readTargets(store.db, [receiverId]);
	const url = parsePostbackUrl(target?.url ?? "");
	if (target?.sealedSecret == null || target.endpointId === null || target.form === null || !url.ok)
		return [];
	const secret = openSecret(keyRing, receiverId, target.sealedSecret) ?? "";
	const lane = {
		kind: target.kind,
		form: target.form,
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
