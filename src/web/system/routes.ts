// How the installation does, and who did what in it.

import { AUDIT_EXPORT_PATH, AUDIT_PATH, SYSTEM_PATH } from "../paths.ts";
import type { Route } from "../routes.ts";
import { exportAudit, showAudit } from "./audit-page.ts";
import { showSystem } from "./system-page.ts";

export const SYSTEM_ROUTES: readonly Route[] = [
	{ method: "GET", path: SYSTEM_PATH, access: "staff", answer: showSystem },
	{ method: "GET", path: AUDIT_PATH, access: "staff", answer: showAudit },
	{ method: "GET", path: AUDIT_EXPORT_PATH, access: "staff", answer: exportAudit },
];
