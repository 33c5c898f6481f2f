// People: those of shops, and the network's staff.

import type { Generated } from "kysely";
import type { PersonKind } from "../../domain/roles.ts";

export interface PeopleTable {
	id: Generated<number>;
	public_id: string;
	/** Lower case; unique. */
	email: string;
	kind: PersonKind;
	created_at_ms: number;
	/** Empty until they have accepted their invitation. */
	name: Generated<string>;
	/** An IANA name; null for the browser's own. */
	zone: string | null;
	/** Of dates: one of domain/own-settings; null for the browser's own. */
	locale: string | null;
	/** Whether they want these mails. */
	mails_callbacks_failing: Generated<0 | 1>;
	mails_callbacks_working_again: Generated<0 | 1>;
	/** Set when they may no longer sign in. */
	deactivated_at_ms: number | null;
}
