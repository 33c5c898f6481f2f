// The programme in the frame around its pages: its name, and how many notices are open.

import { findOpenNotice } from "../store/notice-list.ts";
import type { Programme } from "../store/programmes.ts";
import type { Db } from "../store/store.ts";
import type { DocumentProgramme } from "./document.ts";

export async function frameProgramme(db: Db, programme: Programme): Promise<DocumentProgramme> {
	const open = await findOpenNotice(db, programme.id);
	return { publicId: programme.public_id, name: programme.name, openNotices: open === undefined ? 0 : 1 };
}
