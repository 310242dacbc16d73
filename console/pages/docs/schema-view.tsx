// A schema as a list of members. What is inside a member is rendered when it is opened.

import { useState } from "preact/hooks";
import type { JsonObject } from "../../api/json.ts";
import type { Schema } from "../../api/types.ts";
import { Prose } from "./prose.tsx";
import { type Property, propertiesOf, typeText } from "./schema.ts";

interface SchemaViewProps {
  readonly document: JsonObject;
  readonly schema: Schema;
}

export function SchemaView({ document, schema }: SchemaViewProps) {
  const properties = propertiesOf(document, schema);
  if (properties.length === 0)
    return (
      <p class="faint">
        {typeText(document, schema)}
        {schema.description && `: ${schema.description}`}
      </p>
    );
  return (
    <ul class="members">
      {properties.map((property) => (
        <Member key={property.name} document={document} property={property} />
      ))}
    </ul>
  );
}

function Member({ document, property }: { document: JsonObject; property: Property }) {
  const { name, schema, isRequired } = property;
  const [isOpen, setIsOpen] = useState(false);
  const hasMore = propertiesOf(document, schema).length > 0;
  return (
    <li>
      <code>{name}</code> <span class="faint">{typeText(document, schema)}</span>
      {isRequired && <span class="faint"> · required</span>}
      {schema.description && <Prose text={schema.description} />}
      {hasMore && (
        <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
          <summary>
            Members<span class="hidden-text"> of {name}</span>
          </summary>
          {isOpen && <SchemaView document={document} schema={schema} />}
        </details>
      )}
    </li>
  );
}
