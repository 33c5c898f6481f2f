// Uploaded files over a real database: whoever uploads them, what they hold, and what has become of them.

import { ok } from "node:assert/strict";
import { MAIL_OFF } from "../../test/support/app-deps.ts";
import { createClock, type MovableClock } from "../../test/support/clock.ts";
import type { SuiteDatabase } from "../../test/support/databases.ts";
import { addProgramme, newId } from "../../test/support/rows.ts";
import { isoTime } from "../domain/time.ts";
import { createRandom } from "../outside/random.ts";
import type { Maker } from "../people/links.ts";
import { findImport, type ImportJob, type ListedImport } from "../store/queries/import-jobs.ts";
import { insertPerson, type Person } from "../store/queries/people.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { setPassword } from "../store/queries/sign-in.ts";
import type { Store } from "../store/store.ts";
import type { ImportKindName } from "./import-kind.ts";
import { importKind } from "./import-kinds.ts";
import { uploadImport } from "./import-upload.ts";
import type { ImportWorkDeps } from "./import-work.ts";
import { fileOf } from "./imports.test-support.ts";
import { type ImportSummary, parseSummary } from "./summary.ts";

export type JobDeps = ImportWorkDeps & { clock: MovableClock };

export const never = () => false;

export interface JobSetup {
	open(): Promise<{ deps: JobDeps; staff: Person; programme: Programme }>;
	addStaff(): Promise<Person>;
	upload(deps: JobDeps, staff: Person, kind: ImportKindName, lines: readonly string[]): Promise<ImportJob>;
	reload(job: ImportJob): Promise<ListedImport>;
	summaryOf(job: ImportJob): Promise<ImportSummary>;
	countImported(programme: Programme): Promise<number>;
}

export function createJobSetup(database: SuiteDatabase): JobSetup {
	async function addStaff(): Promise<Person> {
		const public_id = newId("usr");
		const person = await insertPerson(database.store.db, {
			public_id,
			email: `${public_id}@network.example`,
			kind: "staff",
			created_at_ms: 0,
		});
		ok(person !== undefined);
		await signIn(database.store, person);
		return person;
	}

	async function reload({ public_id }: ImportJob): Promise<ListedImport> {
		const job = await findImport(database.store.db, public_id);
		ok(job !== undefined);
		return job;
	}

	return {
		addStaff,
		reload,
		async open() {
			const { store } = database;
			const clock = createClock();
			const publicUrl = "https://network.example";
			const deps = { store, clock, random: createRandom(), mails: MAIL_OFF, publicUrl };
			return { deps, staff: await addStaff(), programme: await addProgramme(store) };
		},
		async upload(deps, staff, kind, lines) {
			const text = lines.join("\n");
			const file = { ...fileOf(text), name: `${kind}.csv`, bytes: Buffer.byteLength(text) };
			const job = await uploadImport(deps, importKind(kind), makerOf(staff), file);
			ok(job.ok, JSON.stringify(job));
			return job.value;
		},
		summaryOf: async (job) => parseSummary((await reload(job)).summary ?? ""),
		async countImported({ id }) {
			const rows = await database.store.db
				.selectFrom("conversions")
				.select("id")
				.where("programme_id", "=", id)
				.execute();
			return rows.length;
		},
	};
}

async function signIn({ db }: Store, person: Person): Promise<void> {
	const { id, token } = { id: sessionOf(person), token: `token of ${person.public_id}` };
	const [createdAt, expiresAt] = [isoTime(0), isoTime(Date.UTC(2100, 0))];
	await setPassword(db, person, "a hash", 0);
	await db
		.insertInto("auth_sessions")
		.values({
			...{ id, token, userId: person.public_id, ipAddress: null, userAgent: null },
			...{ createdAt, updatedAt: createdAt, expiresAt },
		})
		.execute();
}

const sessionOf = ({ public_id }: Person) => `session of ${public_id}`;

/** In the session that `addStaff` opened. */
export function makerOf(person: Person): Maker {
	return { personId: person.id, kind: "staff", sessionId: sessionOf(person) };
}

/** `afterReading`: what happens just after somebody has read the job; they have it as it was before. */
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
		afterReading({ public_id: publicId }: Pick<ImportJob, "public_id">, act: () => Promise<unknown>): void {
			next = { publicId, act };
		},
		get hasHappened(): boolean {
			return next === undefined;
		},
	};
}

/** Decided orders of the programme. */
export function history({ public_id }: Programme, rows: number): string[] {
	return [
		"programme,order_id,status,sold_at,amount",
		...Array.from({ length: rows }, (_, at) => `${public_id},H-${at},approved,2025-02-01,10.00`),
	];
}
