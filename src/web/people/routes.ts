// People: a programme's, and the staff.

import { peoplePath, STAFF_PATH } from "../paths.ts";
import type { Route } from "../routes.ts";
import {
	changeRoleOf,
	inviteAnother,
	leave,
	linkPerson,
	removeFromProgramme,
	showProgrammePeople,
} from "./programme-people-page.ts";
import { deactivatePerson, inviteColleague, linkStaff, showStaff } from "./staff-page.ts";

const PEOPLE = peoplePath(":programmeId");
const PERSON = `${PEOPLE}/:personId`;

export const PEOPLE_ROUTES: readonly Route[] = [
	{ method: "GET", path: PEOPLE, access: "programme", answer: showProgrammePeople },
	{ method: "POST", path: `${PEOPLE}/invite`, access: "programme-manage", answer: inviteAnother },
	{ method: "POST", path: `${PEOPLE}/leave`, access: "programme", answer: leave },
	{ method: "POST", path: `${PERSON}/link`, access: "programme-manage", answer: linkPerson },
	{ method: "POST", path: `${PERSON}/role`, access: "programme-manage", answer: changeRoleOf },
	{ method: "POST", path: `${PERSON}/remove`, access: "programme-manage", answer: removeFromProgramme },
	{ method: "GET", path: STAFF_PATH, access: "staff", answer: showStaff },
	{ method: "POST", path: `${STAFF_PATH}/invite`, access: "staff", answer: inviteColleague },
	{ method: "POST", path: `${STAFF_PATH}/:personId/link`, access: "staff", answer: linkStaff },
	{ method: "POST", path: `${STAFF_PATH}/:personId/deactivate`, access: "staff", answer: deactivatePerson },
];
