// What the entries of a page of the audit log are about, by the names that people know: the order of a conversion or of a
// callback, the file that decisions came from, somebody's name. One look at each table, by what is unique there.

import type { Db } from "../store.ts";
import type { Job } from "./jobs.ts";

export interface AuditSubjects {
	/** By the public id of the conversion. */
	orders: ReadonlyMap<string, string>;
	/** By the public id of the delivery. */
	callbacks: ReadonlyMap<string, { event: string; orderId: string }>;
	jobs: ReadonlyMap<string, Pick<Job, "file_name">>;
	/** By the e-mail address. */
	people: ReadonlyMap<string, string>;
}

/** What is past its retention is in none of them. */
export async function readAuditSubjects(
	db: Db,
	entries: readonly { subject: string | null }[],
): Promise<AuditSubjects> {
	const subjects = entries.flatMap(({ subject }) => subject ?? []);
	const having = (test: (subject: string) => boolean) => [...new Set(subjects.filter(test))];
	const orders = await findOrders(
		db,
		having((id) => id.startsWith("cnv_")),
	);
	const callbacks = await findCallbacks(
		db,
		having((id) => id.startsWith("dlv_")),
	);
	const jobs = await findJobs(
		db,
		having((id) => id.startsWith("job_")),
	);
	const people = await findNames(
		db,
		having((text) => text.includes("@")),
	);
	return {
		orders: new Map(orders.map(({ public_id, order_id }) => [public_id, order_id])),
		callbacks: new Map(callbacks.map(({ public_id, ...callback }) => [public_id, callback])),
		jobs: new Map(jobs.map(({ public_id, ...job }) => [public_id, job])),
		people: new Map(people.map(({ email, name }) => [email, name])),
	};
}

async function findOrders(db: Db, publicIds: readonly string[]) {
	if (publicIds.length === 0) return [];
	return db
		.selectFrom("conversions")
		.select(["public_id", "order_id"])
		.where("public_id", "in", publicIds)
		.execute();
}

async function findCallbacks(db: Db, publicIds: readonly string[]) {
	if (publicIds.length === 0) return [];
	return db
		.selectFrom("deliveries")
		.innerJoin("events", "events.id", "deliveries.id")
		.innerJoin("conversions", "conversions.id", "events.conversion_id")
		.select(["deliveries.public_id", "events.name as event", "conversions.order_id as orderId"])
		.where("deliveries.public_id", "in", publicIds)
		.execute();
}

async function findJobs(db: Db, publicIds: readonly string[]) {
	if (publicIds.length === 0) return [];
	return db
		.selectFrom("jobs")
		.select(["public_id", "file_name"])
		.where("public_id", "in", publicIds)
		.execute();
}

async function findNames(db: Db, emails: readonly string[]) {
	if (emails.length === 0) return [];
	return db.selectFrom("people").select(["email", "name"]).where("email", "in", emails).execute();
}
