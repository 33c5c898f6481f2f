// Applications to become a partner of a programme, and the programmes for which a partner can apply.

import type { Insertable, Selectable } from "kysely";
import { type Locked, lockRow, lockRows } from "#core/store/locked.ts";
import { NO_ID } from "#core/store/no-id.ts";
import { type ListPage, type PageRequest, readListPage, walkNewest } from "#core/store/queries/list-page.ts";
import type { Db } from "#core/store/store.ts";
import type { ProgrammesTable } from "#core/store/tables/programmes.ts";
import type { Application, ApplicationsTable } from "./tables.ts";

/** A programme without the columns of its receiver, which partners do not need. */
export type OpenProgramme = Selectable<ProgrammesTable>;

/** Lists the programmes for which a partner can apply, because it has never been a partner of them. */
export function pageOpenProgrammes(
	db: Db,
	partnerId: number,
	request: PageRequest,
): Promise<ListPage<OpenProgramme>> {
	const programmes = db
		.selectFrom("programmes")
		.selectAll()
		.where("is_listed", "=", 1)
		.where("takes_applications", "=", 1)
		.where("archived_at_ms", "is", null)
		.where(({ not, exists, selectFrom }) =>
			not(
				exists(
					selectFrom("partnerships")
						.select("partnerships.id")
						.whereRef("partnerships.programme_id", "=", "programmes.id")
						.where("partnerships.partner_id", "=", partnerId),
				),
			),
		);
	return readListPage(walkNewest(db, programmes, "programmes.id"), request);
}

/** Inserts an application. Returns false if another one from the same partner or e-mail address is waiting. */
export async function insertApplication(
	db: Db,
	application: Insertable<ApplicationsTable>,
): Promise<boolean> {
	const { numInsertedOrUpdatedRows } = await db
		.insertInto("applications")
		.values(application)
		.onConflict((conflict) => conflict.doNothing())
		.executeTakeFirst();
	return numInsertedOrUpdatedRows !== 0n;
}

export async function countApplications(db: Db, programmeId: number): Promise<number> {
	const applications = db.selectFrom("applications").where("programme_id", "=", programmeId);
	return (
		await applications.select(({ fn }) => fn.countAll<number>().as("waiting")).executeTakeFirstOrThrow()
	).waiting;
}

/** Returns the programmes of the list for which the partner has an application without an answer. */
export async function findAppliedTo(
	db: Db,
	partnerId: number,
	programmeIds: readonly number[],
): Promise<ReadonlySet<number>> {
	const rows = await db
		.selectFrom("applications")
		.select("programme_id")
		.where("partner_id", "=", partnerId)
		.where("programme_id", "in", [NO_ID, ...programmeIds])
		.execute();
	return new Set(rows.map(({ programme_id }) => programme_id));
}

/** Lists all open applications, the newest first. The file use-cases/applications.ts limits their number. */
export function listApplications(db: Db, programmeId: number): Promise<Application[]> {
	const applications = db.selectFrom("applications").selectAll().where("programme_id", "=", programmeId);
	return applications.orderBy("id", "desc").execute();
}

/** Finds an application that nobody has answered yet. An answered application no longer exists. */
export function findApplication(
	db: Db,
	programmeId: number,
	publicId: string,
): Promise<Application | undefined> {
	return selectApplication(db, programmeId, publicId).executeTakeFirst();
}

export function lockApplication(
	trx: Db,
	programmeId: number,
	publicId: string,
): Promise<Locked<Application> | undefined> {
	return lockRow(trx, selectApplication(trx, programmeId, publicId));
}

export function lockApplications(trx: Db, programmeId: number): Promise<Locked<Application>[]> {
	const query = trx.selectFrom("applications").selectAll().where("programme_id", "=", programmeId);
	return lockRows(trx, query.orderBy("id"));
}

function selectApplication(db: Db, programmeId: number, publicId: string) {
	const query = db.selectFrom("applications").selectAll().where("programme_id", "=", programmeId);
	return query.where("public_id", "=", publicId);
}

/** Removes an application that was answered, because what strangers say about themselves is not needed any longer. */
export async function removeApplication(trx: Db, { id }: Locked<Application>): Promise<void> {
	await trx.deleteFrom("applications").where("id", "=", id).execute();
}
