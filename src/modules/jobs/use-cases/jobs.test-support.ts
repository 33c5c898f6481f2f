// Creates jobs of every kind in a real database, and reads their rows, summaries and results.

import { ok } from "node:assert/strict";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { COMMAND_LINE, type SignedInPerson } from "#core/people/actor.ts";
import { insertPerson, type Person } from "#core/store/queries/people.ts";
import type { Programme } from "#core/store/queries/programmes.ts";
import type { Store } from "#core/store/store.ts";
import { MAIL_OFF } from "../../../../test/support/app-deps.ts";
import { createClock, type MovableClock } from "../../../../test/support/clock.ts";
import type { SuiteDatabase } from "../../../../test/support/databases.ts";
import { addProgramme, newId } from "../../../../test/support/rows.ts";
import { signInAs } from "../../../../test/support/signed-in.ts";
import { CHANGES } from "../../../modules.ts";
import { createRandom } from "../../../outside/random.ts";
import { findBatch, findJob, type Job, type ListedJob } from "../store/jobs.ts";
import type { JobKindName } from "../store/tables.ts";
import { startJob } from "./job.ts";
import type { ApplyDeps, JobScope } from "./kind.ts";
import { JOB_KINDS } from "./kinds.ts";
import { type JudgedRow, jobResult, readLines, readVerdicts } from "./lines.ts";
import { uploadFile } from "./make-job.ts";
import { type JobSummary, parseSummary } from "./summary.ts";
import { type JobWorkDeps, workOffJobs } from "./work.ts";

export type JobDeps = JobWorkDeps & { clock: MovableClock };

export const never = () => false;

export function openJobs(store: Store): JobDeps {
	const publicUrl = "https://network.example";
	const keyRing = createKeyRing([new Uint8Array(32).fill(7)]);
	return {
		store,
		clock: createClock(),
		random: createRandom(),
		changes: CHANGES,
		mails: MAIL_OFF,
		publicUrl,
		keyRing,
	};
}

export function fileOf(text: string | Uint8Array, name = "file.csv") {
	const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
	async function* read() {
		yield bytes;
	}
	return { name, bytes: bytes.length, read };
}

export interface Went {
	summary: JobSummary;
	rows: readonly JudgedRow[];
}

export type Inviting = ApplyDeps["inviting"];

/**
 * Uploads lines as the command line does, then previews or applies them. The first line contains the column
 * names.
 */
export async function runLines(
	deps: JobDeps & { inviting?: Inviting },
	name: Exclude<JobKindName, "decisions">,
	lines: readonly string[],
	step: "preview" | "apply",
): Promise<Went> {
	const uploaded = await uploadFile(
		deps,
		JOB_KINDS[name],
		{ actor: COMMAND_LINE },
		fileOf(lines.join("\n"), `${name}.csv`),
	);
	ok(uploaded.ok, JSON.stringify(uploaded));
	await workOffJobs(deps, never);
	if (step === "apply") {
		const { inviting = null } = deps;
		ok((await startJob(deps, await reload(deps, uploaded.value), COMMAND_LINE, inviting !== null)).ok);
		await workOffJobs({ ...deps, ...inviting }, never);
	}
	return { summary: await summaryOf(deps, uploaded.value), rows: await rowsOf(deps, uploaded.value) };
}

/** Returns one text for each row, such as "2 refused: …". */
export function wordsOf({ rows }: Pick<Went, "rows">): string[] {
	return rows.map(({ line, verdict: { kind, detail } }) =>
		detail === null ? `${line} ${kind}` : `${line} ${kind}: ${detail}`,
	);
}

export async function rowsOf({ store }: Pick<JobDeps, "store">, job: Job): Promise<JudgedRow[]> {
	const rows: JudgedRow[] = [];
	for (let seq = 1; ; seq++) {
		const batch = await findBatch(store.db, job.id, seq);
		if (batch === undefined) return rows;
		const verdicts = readVerdicts(batch.verdicts);
		for (const [index, { line, cells }] of readLines(batch.lines).entries()) {
			const verdict = verdicts[index];
			ok(verdict !== undefined);
			rows.push({ line, cells, verdict });
		}
	}
}

export async function reload({ store }: Pick<JobDeps, "store">, job: Job): Promise<ListedJob> {
	const found = await findJob(store.db, job.programme_id, job.public_id);
	ok(found !== undefined);
	return found;
}

export async function summaryOf(deps: Pick<JobDeps, "store">, job: Job): Promise<JobSummary> {
	return parseSummary((await reload(deps, job)).summary ?? "");
}

export async function resultOf(deps: JobDeps, job: Job, isOfProblems = false): Promise<string> {
	return (await Array.fromAsync(jobResult(deps.store.db, await reload(deps, job), isOfProblems))).join("");
}

export interface JobSetup {
	open(): Promise<{ deps: JobDeps; staff: Person; programme: Programme }>;
	addPerson(kind?: "staff" | "shop"): Promise<Person>;
	upload(
		deps: JobDeps,
		by: Person,
		kind: JobKindName,
		lines: readonly string[],
		scope?: Partial<JobScope>,
	): Promise<Job>;
	countConversions(programme: Programme, status?: "APPROVED"): Promise<number>;
}

export function createJobSetup(database: SuiteDatabase): JobSetup {
	async function addPerson(kind: "staff" | "shop" = "staff"): Promise<Person> {
		const public_id = newId("usr");
		const email = `${public_id}@${kind}.example`;
		const person = await insertPerson(database.store.db, { public_id, email, kind, created_at_ms: 0 });
		ok(person !== undefined);
		await signInAs(database.store, person);
		return person;
	}
	return {
		addPerson,
		async open() {
			const { store } = database;
			return { deps: openJobs(store), staff: await addPerson(), programme: await addProgramme(store) };
		},
		async upload(deps, person, kind, lines, scope = {}) {
			const file = fileOf(lines.join("\n"), `${kind}.csv`);
			const job = await uploadFile(deps, JOB_KINDS[kind], { actor: actorOf(person), ...scope }, file);
			ok(job.ok, JSON.stringify(job));
			return job.value;
		},
		async countConversions({ id }, status) {
			const rows = await database.store.db
				.selectFrom("conversions")
				.select("status")
				.where("programme_id", "=", id)
				.execute();
			return rows.filter((row) => status === undefined || row.status === status).length;
		},
	};
}

/** Returns the person as an actor in the session that `addPerson` opened. */
export function actorOf({ id: personId, kind, public_id: sessionId }: Person): SignedInPerson {
	return { personId, kind, sessionId };
}

/**
 * Runs an action once, right after a query has read a job and before its result is used. The code under test
 * then works with an outdated job.
 */
export function createInterruption(store: Store) {
	let next: { publicId: string; act: () => Promise<unknown> } | undefined;
	const db = store.db.withPlugin({
		transformQuery: ({ node }) => node,
		transformResult: async ({ result }) => {
			const due = next;
			if (due !== undefined && result.rows.some((row) => row["public_id"] === due.publicId)) {
				next = undefined;
				await due.act();
			}
			return result;
		},
	});
	return {
		store: { ...store, db },
		afterReading({ public_id: publicId }: Pick<Job, "public_id">, act: () => Promise<unknown>): void {
			next = { publicId, act };
		},
		get hasHappened(): boolean {
			return next === undefined;
		},
	};
}

/** Returns the lines of an import file with approved orders of the programme. */
export function history({ public_id }: Programme, rows: number): string[] {
	return [
		"programme,order_id,status,sold_at,amount",
		...Array.from({ length: rows }, (_, at) => `${public_id},H-${at},approved,2025-02-01,10.00`),
	];
}

/** Records which statements of each transaction use a table, by their position in the transaction. */
export function watchStatements(store: Store, table: string): { store: Store; seen: (readonly number[])[] } {
	const seen: (readonly number[])[] = [];
	const transact: Store["transact"] = async (work, options) => {
		const places: number[] = [];
		let statements = 0;
		const watched = async (trx: Parameters<typeof work>[0]) =>
			work(
				trx.withPlugin({
					transformQuery({ node }) {
						statements += 1;
						if (JSON.stringify(node).includes(table)) places.push(statements);
						return node;
					},
					transformResult: async ({ result }) => result,
				}),
			);
		const done = await store.transact(watched, options);
		if (places.length > 0) seen.push(places);
		return done;
	};
	return { store: { ...store, transact }, seen };
}
