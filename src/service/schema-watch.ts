// Notices when a newer program has changed the schema beyond this one, while it runs: it then must not go on. First it
// says so to whoever asks whether it is ready, so that a load balancer sends nobody any more, and then it stops.

import { SECOND_MS } from "../domain/time.ts";
import type { Clock, Log } from "../ports.ts";
import { checkSchema, readSchema, SchemaTooNewError } from "../store/schema/migrations.ts";
import type { Store } from "../store/store.ts";

export interface SchemaWatch {
	/** Why this program cannot go on; null while it can. */
	readonly problem: SchemaTooNewError | null;
	/** Resolves when it is time to stop; never, if it never is. */
	readonly outdated: Promise<SchemaTooNewError>;
	stop(): Promise<void>;
}

/** A few rows of a table that nobody else reads. */
const LOOK_INTERVAL_MS = 10 * SECOND_MS;
/** Load balancers ask every few seconds. */
const UNREADY_MS = 3 * SECOND_MS;

export function watchSchema({ store, clock, log }: { store: Store; clock: Clock; log: Log }): SchemaWatch {
	const outdated = Promise.withResolvers<SchemaTooNewError>();
	let problem: SchemaTooNewError | null = null;
	let isStopping = false;
	let looking: Promise<void> = Promise.resolve();
	let cancel = clock.after(LOOK_INTERVAL_MS, look);

	function look(): void {
		looking = findProblem(store).then((found) => {
			if (isStopping) return;
			if (found === null) {
				cancel = clock.after(LOOK_INTERVAL_MS, look);
				return;
			}
			problem = found;
			log.error({ reason: found.message }, "a newer Ringback has changed the database; this one stops");
			cancel = clock.after(UNREADY_MS, () => outdated.resolve(found));
		});
	}

	return {
		get problem() {
			return problem;
		},
		outdated: outdated.promise,
		async stop() {
			isStopping = true;
			cancel();
			await looking;
		},
	};
}

async function findProblem({ db }: Store): Promise<SchemaTooNewError | null> {
	try {
		checkSchema(await readSchema(db));
		return null;
	} catch (error) {
		// A database that does not answer is noticed by everybody else.
		return error instanceof SchemaTooNewError ? error : null;
	}
}
