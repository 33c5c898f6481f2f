// The pages of people: a programme's owners, and the staff.

import type { Hono } from "hono";
import type { WebDeps, WebEnv } from "../deps.ts";
import { showOwners, takeOwnerInvitation, takeOwnerLink, takeOwnerRemoval } from "./owners-page.ts";
import { showStaff, takeDeactivation, takeStaffInvitation, takeStaffLink } from "./staff-page.ts";

export function mountPeople(site: Hono<WebEnv>, deps: WebDeps): void {
	const owners = "/programmes/:programmeId/people";
	site.get(owners, (c) => showOwners(c, deps));
	site.post(`${owners}/invite`, (c) => takeOwnerInvitation(c, deps));
	site.post(`${owners}/:personId/link`, (c) => takeOwnerLink(c, deps));
	site.post(`${owners}/:personId/remove`, (c) => takeOwnerRemoval(c, deps));
	// Behind requireStaff, as everything below /people: see site.ts.
	site.get("/people", (c) => showStaff(c, deps));
	site.post("/people/invite", (c) => takeStaffInvitation(c, deps));
	site.post("/people/:personId/link", (c) => takeStaffLink(c, deps));
	site.post("/people/:personId/deactivate", (c) => takeDeactivation(c, deps));
}
