// The two pages about the installation.

import { tabs } from "../components/blocks.ts";
import type { Html } from "../html.ts";
import { AUDIT_PATH, SYSTEM_PATH } from "../paths.ts";

export function systemTabs(active: "status" | "audit"): Html {
	return tabs("System", [
		{ label: "Status", href: SYSTEM_PATH, isActive: active === "status" },
		{ label: "Audit log", href: AUDIT_PATH, isActive: active === "audit" },
	]);
}
