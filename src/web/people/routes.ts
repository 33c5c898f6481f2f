// People: a programme's owners, and the staff.

import { ownersPath, STAFF_PATH } from "../paths.ts";
import type { Route } from "../routes.ts";
import { inviteAnotherOwner, linkOwner, removeOwner, showOwners } from "./owners-page.ts";
import { deactivatePerson, inviteColleague, linkStaff, showStaff } from "./staff-page.ts";

const OWNERS = ownersPath(":programmeId");

export const PEOPLE_ROUTES: readonly Route[] = [
	{ method: "GET", path: OWNERS, access: "programme", answer: showOwners },
	{ method: "POST", path: `${OWNERS}/invite`, access: "programme", answer: inviteAnotherOwner },
	{ method: "POST", path: `${OWNERS}/:personId/link`, access: "programme", answer: linkOwner },
	{ method: "POST", path: `${OWNERS}/:personId/remove`, access: "programme", answer: removeOwner },
	{ method: "GET", path: STAFF_PATH, access: "staff", answer: showStaff },
	{ method: "POST", path: `${STAFF_PATH}/invite`, access: "staff", answer: inviteColleague },
	{ method: "POST", path: `${STAFF_PATH}/:personId/link`, access: "staff", answer: linkStaff },
	{ method: "POST", path: `${STAFF_PATH}/:personId/deactivate`, access: "staff", answer: deactivatePerson },
];
