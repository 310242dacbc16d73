// Customers, with the orders of each.

import People from "@mui/icons-material/People";
import {
  BulkDeleteButton,
  Create,
  DataTable,
  DateField,
  List,
  ReferenceManyField,
  required,
  Show,
  SimpleForm,
  SimpleShowLayout,
  TextField,
  TextInput,
} from "react-admin";
import { SafeEdit } from "./conflict.tsx";

const filters = [
  <TextInput key="name" source="name_icontains" label="Name contains" alwaysOn />,
  <TextInput key="country" source="country" />,
];

const CustomerList = () => (
  <List filters={filters} sort={{ field: "name", order: "ASC" }}>
    <DataTable bulkActionButtons={<BulkDeleteButton mutationMode="pessimistic" />}>
      <DataTable.Col source="name" />
      <DataTable.Col source="country" />
    </DataTable>
  </List>
);

const CustomerShow = () => (
  <Show>
    <SimpleShowLayout>
      <TextField source="name" />
      <TextField source="country" />
      <ReferenceManyField label="Orders" reference="orders" target="customer">
        <DataTable bulkActionButtons={false}>
          <DataTable.Col source="placed" field={DateField} />
          <DataTable.Col source="status" />
          <DataTable.NumberCol source="total" />
        </DataTable>
      </ReferenceManyField>
    </SimpleShowLayout>
  </Show>
);

const inputs = (
  <>
    <TextInput source="name" validate={required()} />
    <TextInput source="country" helperText="Two capital letters, such as DE" />
  </>
);

const CustomerCreate = () => (
  <Create redirect="list">
    <SimpleForm>{inputs}</SimpleForm>
  </Create>
);

const CustomerEdit = () => <SafeEdit>{inputs}</SafeEdit>;

export const customers = {
  ...{ icon: People, recordRepresentation: "name" },
  ...{ list: CustomerList, show: CustomerShow, create: CustomerCreate, edit: CustomerEdit },
};
