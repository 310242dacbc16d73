// One resource: its form, its JSON, its files, what it refers to, and what may be done with it.

import { Panel, type PanelProps } from "../resource/panel.tsx";

/** Without an id it is a new resource. */
export const ResourcePanel = (props: PanelProps) => (
  <Panel key={`${props.collection}/${props.id ?? ""}`} {...props} />
);
