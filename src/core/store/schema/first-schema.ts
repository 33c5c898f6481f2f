// Schema of a new database, by subject. A table comes after the tables that it refers to. Databases with this schema
// exist, so these statements must not change. Every change is a new migration.

import type { Dialect } from "./dialect.ts";
import { conversionTables } from "./first-schema/conversions.ts";
import { deliveryTables } from "./first-schema/deliveries.ts";
import { inboundTables } from "./first-schema/inbound.ts";
import { installationTables } from "./first-schema/installation.ts";
import { jobTables } from "./first-schema/jobs.ts";
import { moneyTables } from "./first-schema/money.ts";
import { noticeTables } from "./first-schema/notices.ts";
import { orderSearchTables } from "./first-schema/order-search.ts";
import { partnerTables } from "./first-schema/partners.ts";
import { peopleTables } from "./first-schema/people.ts";
import { programmeTables } from "./first-schema/programmes.ts";
import { receiverTables } from "./first-schema/receivers.ts";
import { signInTables } from "./first-schema/sign-in.ts";
import { tokenTables } from "./first-schema/tokens.ts";

export function firstSchema(dialect: Dialect): readonly string[] {
	return [
		...installationTables(dialect),
		...peopleTables(dialect),
		...signInTables(dialect),
		...programmeTables(dialect),
		...receiverTables(dialect),
		...conversionTables(dialect),
		...orderSearchTables(dialect),
		...deliveryTables(dialect),
		...noticeTables(dialect),
		...inboundTables(dialect),
		...jobTables(dialect),
		...partnerTables(dialect),
		...moneyTables(dialect),
		...tokenTables(dialect),
	];
}
