// Does the process live, and can it work: what a supervisor and a load balancer ask.

import { fault } from "../domain/fault.ts";
import type { AppDeps } from "./deps.ts";
import { problemAnswer } from "./problem.ts";

/** Load balancers wait a few seconds; a database that needs longer is not ready. */
const READY_TIMEOUT_MS = 2_000;

const HEADERS = { "content-type": "application/json", "cache-control": "no-store" };

export function answerAlive(): Response {
	return new Response('{"status":"ok"}', { headers: HEADERS });
}

export async function answerReady(deps: AppDeps): Promise<Response> {
	if (await inTime(deps, isReady(deps))) return new Response('{"status":"ready"}', { headers: HEADERS });
	return problemAnswer(
		deps,
		fault(
			"unavailable",
			"The service cannot work just now: it is starting, stopping, or without its database.",
		),
	);
}

async function isReady({ store, log, isReady: isServiceReady }: AppDeps): Promise<boolean> {
	try {
		if (isServiceReady !== undefined && !(await isServiceReady())) return false;
		await store.db.selectFrom("schema_versions").select("version").limit(1).execute();
		return true;
	} catch (error) {
		log.warn({ err: error }, "not ready: the database does not answer");
		return false;
	}
}

function inTime({ clock }: Pick<AppDeps, "clock">, answer: Promise<boolean>): Promise<boolean> {
	const timeout = Promise.withResolvers<boolean>();
	const cancel = clock.after(READY_TIMEOUT_MS, () => timeout.resolve(false));
	return Promise.race([answer, timeout.promise]).finally(cancel);
}
