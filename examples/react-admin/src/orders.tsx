// Orders: each refers to a customer, and each of its lines to a product.

import ShoppingCart from "@mui/icons-material/ShoppingCart";
import {
  ArrayField,
  ArrayInput,
  AutocompleteInput,
  BulkDeleteButton,
  BulkUpdateButton,
  Create,
  DataTable,
  DateField,
  DateTimeInput,
  List,
  NumberField,
  NumberInput,
  ReferenceField,
  ReferenceInput,
  required,
  SelectArrayInput,
  SelectInput,
  Show,
  SimpleForm,
  SimpleFormIterator,
  SimpleShowLayout,
  TextField,
  TextInput,
} from "react-admin";
import { SafeEdit } from "./conflict.tsx";

const states = ["open", "paid", "sent"];
const byName = (text: string) => ({ name_icontains: text });

const filters = [
  <SelectArrayInput key="status" source="status" choices={states} alwaysOn />,
  <TextInput key="country" source="customer.country" label="Country" alwaysOn />,
  <ReferenceInput key="customer" source="customer" reference="customers">
    <AutocompleteInput filterToQuery={byName} />
  </ReferenceInput>,
  <NumberInput key="total" source="total_gte" label="Total from" />,
];

const ManyButtons = () => (
  <>
    <BulkUpdateButton label="Sent" data={{ status: "sent" }} mutationMode="pessimistic" />
    <BulkDeleteButton mutationMode="pessimistic" />
  </>
);

const OrderList = () => (
  <List filters={filters} sort={{ field: "placed", order: "DESC" }}>
    <DataTable bulkActionButtons={<ManyButtons />}>
      <DataTable.Col source="placed">
        <DateField source="placed" showTime />
      </DataTable.Col>
      <DataTable.Col source="customer.name" label="Customer">
        <ReferenceField source="customer" reference="customers" />
      </DataTable.Col>
      <DataTable.Col source="status" />
      <DataTable.NumberCol source="total" />
    </DataTable>
  </List>
);

const OrderShow = () => (
  <Show>
    <SimpleShowLayout>
      <DateField source="placed" showTime />
      <ReferenceField source="customer" reference="customers" />
      <TextField source="status" />
      <ArrayField source="lines">
        <DataTable bulkActionButtons={false} rowClick={false}>
          <DataTable.Col source="product">
            <ReferenceField source="product" reference="products" />
          </DataTable.Col>
          <DataTable.NumberCol source="quantity" />
        </DataTable>
      </ArrayField>
      <NumberField source="total" />
    </SimpleShowLayout>
  </Show>
);

const inputs = (
  <>
    <ReferenceInput source="customer" reference="customers">
      <AutocompleteInput filterToQuery={byName} validate={required()} />
    </ReferenceInput>
    <SelectInput source="status" choices={states} validate={required()} defaultValue="open" />
    <DateTimeInput source="placed" validate={required()} defaultValue={new Date()} />
    <ArrayInput source="lines" defaultValue={[{}]}>
      <SimpleFormIterator inline disableReordering>
        <ReferenceInput source="product" reference="products">
          <AutocompleteInput filterToQuery={byName} validate={required()} />
        </ReferenceInput>
        <NumberInput source="quantity" />
      </SimpleFormIterator>
    </ArrayInput>
    <NumberInput source="total" validate={required()} />
  </>
);

const OrderCreate = () => (
  <Create redirect="show">
    <SimpleForm>{inputs}</SimpleForm>
  </Create>
);

const OrderEdit = () => <SafeEdit>{inputs}</SafeEdit>;

export const orders = {
  ...{ icon: ShoppingCart },
  ...{ list: OrderList, show: OrderShow, create: OrderCreate, edit: OrderEdit },
};
